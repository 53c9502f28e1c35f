"""link_only: a library without its headers.

What depends on a library is compiled again whenever one of the headers behind
it changes, whether it includes it or not. Where a library's code needs more
than its users do, a target of headers and this keep the two apart.
"""

def _link_only_impl(ctx):
    return [CcInfo(linking_context = ctx.attr.dep[CcInfo].linking_context)]

link_only = rule(
    doc = "Links `dep`, and gives none of its headers.",
    implementation = _link_only_impl,
    attrs = {"dep": attr.label(providers = [CcInfo], mandatory = True)},
)
