"""A relocatable archive of a program with all that it carries."""

def _archive_impl(ctx):
    program = ctx.executable.program
    name = ctx.attr.top
    lines = ["{}\t{}/bin/{}".format(program.path, name, program.basename)]

    # Where the program looks for its files: beside itself.
    runfiles = "{}/bin/{}.runfiles/".format(name, program.basename)
    carried = ctx.attr.program[DefaultInfo].default_runfiles.files.to_list()
    for file in carried:
        if file.path == program.path:
            continue
        path = file.short_path
        where = path[3:] if path.startswith("../") else ctx.workspace_name + "/" + path
        lines.append("{}\t{}{}".format(file.path, runfiles, where))
    for target, folder in ctx.attr.files.items():
        for file in target.files.to_list():
            prefix = folder + "/" if folder else ""
            lines.append("{}\t{}/{}{}".format(file.path, name, prefix, file.short_path))
    listing = ctx.actions.declare_file(ctx.label.name + ".list")
    ctx.actions.write(listing, "\n".join(lines) + "\n")
    out = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    ctx.actions.run_shell(
        inputs = depset(
            [listing, program] + carried,
            transitive = [target.files for target in ctx.attr.files],
        ),
        outputs = [out],
        arguments = [listing.path, out.path, name],
        command = """
set -eu
dir="$(mktemp -d)"
trap 'rm -r "$dir"' EXIT
while IFS=$'\\t' read -r from to; do
  mkdir -p "$dir/$(dirname "$to")"
  cp -rL "$from" "$dir/$to"
done < "$1"
# The system's headers that the interface needs.
mkdir -p "$dir/$3/include/dlpack"
cp /usr/include/dlpack/dlpack.h "$dir/$3/include/dlpack/"
# A program and the one it is a copy of under another name: bytes that stand
# once in the archive.
find "$dir" -type f -size +64k -exec sha256sum {} + | sort |
while read -r sum file; do
  if [ "$sum" = "${last:-}" ]; then
    ln -f "$kept" "$file"
  else
    last="$sum"
    kept="$file"
  fi
done
tar --create --directory="$dir" --mtime=@0 --sort=name --owner=0 --group=0 \
    --numeric-owner "$3" | gzip --no-name > "$2"
""",
        mnemonic = "Archive",
        progress_message = "Packing " + str(ctx.label),
    )
    return [DefaultInfo(files = depset([out]))]

archive = rule(
    implementation = _archive_impl,
    doc = "NAME.tar.gz: TOP/bin/PROGRAM with its runfiles, and `files`, each " +
          "target's in a folder under TOP by their paths in the workspace.",
    attrs = {
        "program": attr.label(
            executable = True,
            cfg = "target",
            mandatory = True,
        ),
        "files": attr.label_keyed_string_dict(allow_files = True),
        "top": attr.string(mandatory = True),
    },
)
