"""property_test: a RapidCheck property in a file of its own."""

def property_test(name, kernels, max_success = 100, deps = []):
    """A cc_test NAME_property_test from NAME_property_test.cc.

    Its seed is fixed, so that a run means the same everywhere; another one, or
    the string that a failure prints, comes from the command line:

        RC_PARAMS="seed=7 max_success=10000" bazel test //properties/...

    Args:
      name: of the property.
      kernels: what it calls; where the target under test lacks one of them, the
        property is skipped.
      max_success: cases that must pass.
      deps: beside what all properties use.
    """
    native.cc_test(
        name = name + "_property_test",
        size = "medium",
        srcs = [name + "_property_test.cc"],
        env = {
            "PROPERTY_KERNELS": " ".join(kernels),
            "RC_PARAMS": "seed=20260 max_success={} max_discard_ratio=50".format(max_success),
        },
        deps = deps + [
            ":arbitrary_case",
            ":kernels_under_test",
            "//properties:checker",
            "//properties:choices",
            "//third_party:gtest_main",
            "//third_party:rapidcheck",
        ],
    )
