"""A libFuzzer binary that is always built in one flavour, whatever the
configuration of the command line: `bazel run //:mlafuzz` carries instrumented
engines although it is itself built plainly.

What is instrumented, and how: flavour.bzl.
"""

load(":flavour.bzl", "FLAVOURS")

# Of everything in an engine, whether under test or not.
_COPTS = [
    "-O2",
    "-gline-tables-only",
    "-fno-omit-frame-pointer",
    "-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION",
]

def _flavour_impl(_settings, attr):
    flavour = FLAVOURS[attr.flavour]
    return {
        "//command_line_option:copt": _COPTS,
        "//command_line_option:linkopt": flavour.linkopts + [
            "-fsanitize-link-c++-runtime",
        ],
        "//command_line_option:platform_suffix": "-engine-" +
                                                 attr.flavour.replace("+", "-"),
        "//command_line_option:strip": "never",
        "//tools/fuzzing:engine": "//tools/fuzzing:libfuzzer",
        "//tools/fuzzing:flavour": attr.flavour,
    }

_flavour = transition(
    implementation = _flavour_impl,
    inputs = [],
    outputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
        "//command_line_option:platform_suffix",
        "//command_line_option:strip",
        "//tools/fuzzing:engine",
        "//tools/fuzzing:flavour",
    ],
)

def _impl(ctx):
    binary = ctx.attr.binary[0]
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = out,
        target_file = binary[DefaultInfo].files_to_run.executable,
        is_executable = True,
    )

    # What it was built with, for reports.
    flags = ctx.actions.declare_file(ctx.label.name + ".flags")
    ctx.actions.write(flags, "\n".join([
        "all: " + " ".join(_COPTS),
        "kernels: " + " ".join(FLAVOURS[ctx.attr.flavour].copts),
        "",
    ]))
    return [DefaultInfo(
        executable = out,
        runfiles = ctx.runfiles(files = [out, flags]).merge(
            binary[DefaultInfo].default_runfiles,
        ),
    )]

_ATTRS = {
    "binary": attr.label(
        cfg = _flavour,
        executable = True,
        mandatory = True,
    ),
    "flavour": attr.string(
        mandatory = True,
        values = FLAVOURS.keys(),
    ),
    "_allowlist_function_transition": attr.label(
        default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
    ),
}

engine_binary = rule(
    implementation = _impl,
    doc = "`binary`, a cc_binary that depends on //tools/fuzzing:engine, in one " +
          "flavour; beside it NAME.flags, the compiler flags in words.",
    attrs = _ATTRS,
    executable = True,
)
