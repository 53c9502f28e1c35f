"""A build setting that .bazelrc's configurations can set."""

def _setting_impl(_ctx):
    return []

flavour_setting = rule(
    implementation = _setting_impl,
    build_setting = config.string(flag = True),
)
