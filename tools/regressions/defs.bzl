"""mlafuzz_regression_test: cases that once failed, as a test of `bazel test`."""

def mlafuzz_regression_test(name, cases, target = None, library = None, flags = [], **kwargs):
    """Replays cases on a kernel: red while one of them fails.

    Red as well where there is no case, or nothing of the kernel was judged (a
    case of another layout, say): such a test could not fail.

    Args:
      name: of the test.
      cases: labels of cases, mostly a glob() of findings/ID/case.txtpb or
        crashing/ID/examples/*.txtpb that were copied from a campaign's --out.
        cause.json, and whatever else a campaign writes beside them, is skipped.
      target: "python:MODULE", "builtin", ...; or
      library: label of a shared library, for --target=lib:.
      flags: further flags of `mlafuzz replay`, "--backend=cuda" say.
      **kwargs: as of sh_test.
    """
    if (target == None) == (library == None):
        fail("mlafuzz_regression_test {}: give target or library".format(name))
    mlafuzz = Label("//fuzz:mlafuzz")
    native.sh_test(
        name = name,
        srcs = [Label("//tools/regressions:replay.sh")],
        args = [
            "$(rootpath {})".format(mlafuzz),
            "lib:$(rootpath {})".format(library) if library else target,
            str(len(flags)),
        ] + flags + ["$(rootpaths {})".format(case) for case in cases],
        data = cases + [mlafuzz] + ([library] if library else []) + kwargs.pop("data", []),
        size = kwargs.pop("size", "small"),
        **kwargs
    )
