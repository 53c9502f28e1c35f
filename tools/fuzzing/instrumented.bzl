"""A libFuzzer binary whose kernels are always built in one flavour, whatever the
configuration of the command line: `bazel run //:mlafuzz` carries instrumented
engines although it is itself built plainly.

What is instrumented, and how: flavour.bzl. All else in an engine is optimised
and uninstrumented, as .bazelrc has it for plain builds, so that both share it.
"""

load("//tools/dist:linkopts.bzl", "RELOCATABLE")
load(":flavour.bzl", "FLAVOURS", "in_flavour")

# The same as in .bazelrc.
_COPTS = [
    "-O2",
    "-gline-tables-only",
    "-fno-omit-frame-pointer",
]

def _plain_impl(_settings, _attr):
    return {
        "//command_line_option:copt": _COPTS,
        "//command_line_option:linkopt": [],
        "//command_line_option:strip": "never",
    }

_plain = transition(
    implementation = _plain_impl,
    inputs = [],
    outputs = [
        "//command_line_option:copt",
        "//command_line_option:linkopt",
        "//command_line_option:strip",
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

_engine_binary = rule(
    implementation = _impl,
    doc = "`binary`, and beside it NAME.flags, the compiler flags in words.",
    attrs = {
        "binary": attr.label(
            cfg = _plain,
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
    },
    executable = True,
)

def engine_binaries(
        name,
        deps = [],
        kernel_deps = [],
        flavours = FLAVOURS.keys(),
        testonly = False,
        **kwargs):
    """A libFuzzer binary in each flavour: in_flavour(NAME).

    Args:
      name: of the family.
      deps: libraries; one of them defines LLVMFuzzerTestOneInput.
      kernel_deps: kernel_library targets, and what carries their variants.
      flavours: which.
      testonly: of all targets.
      **kwargs: for every cc_binary.
    """
    for flavour in flavours:
        value = FLAVOURS[flavour]
        engine = in_flavour(":" + name, flavour)[1:]
        native.cc_binary(
            name = engine + "_bin",
            linkopts = value.linkopts + RELOCATABLE + [
                # The fuzzing engine's runtime brings a -lstdc++ of its own.
                "-static-libstdc++",
            ],
            linkstatic = True,
            testonly = testonly,
            tags = ["manual"],
            deps = deps + ["//tools/fuzzing:libfuzzer"] +
                   [in_flavour(dep, flavour) for dep in kernel_deps],
            **kwargs
        )
        _engine_binary(
            name = engine,
            binary = engine + "_bin",
            flavour = flavour,
            testonly = testonly,
        )
