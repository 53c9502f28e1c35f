#include "fuzz/campaign/report/page_parts.h"

namespace mlafuzz {

// Colours of Okabe and Ito, which stay apart for most colour-blind readers;
// whatever a colour says stands in words beside it too.
const char kPageStyle[] = R"(
:root { color-scheme: light }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: #111; background: #fff;
  margin: 0 auto; max-width: 75rem; padding: 0 1rem 4rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.6rem; margin: 1.5rem 0 .5rem }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .75rem; border-bottom: 2px solid #ddd }
h3 { font-size: 1rem; margin: 1.25rem 0 .4rem }
a { color: #0b5394 }
a:focus-visible, summary:focus-visible, textarea:focus-visible,
.wide:focus-visible { outline: 3px solid #0072b2; outline-offset: 2px }
.skip { position: absolute; left: -100rem }
.skip:focus { left: 1rem; top: .5rem; background: #fff; padding: .5rem }
.found { border-left: .5rem solid #d55e00; padding-left: .75rem }
.clean { border-left: .5rem solid #009e73; padding-left: .75rem }
.unsure { border-left: .5rem solid #e69f00; padding-left: .75rem }
dl.facts { display: grid; grid-template-columns: max-content 1fr;
  gap: .15rem 1rem; margin: .75rem 0 }
dl.facts dt { color: #555 }
dl.facts dd { margin: 0; min-width: 0 }
.wide { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; font-size: .9rem }
th, td { border: 1px solid #ccc; padding: .2rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: normal }
thead th { background: #f2f2f2 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
td.text { overflow-wrap: anywhere; min-width: 14rem }
meter { width: 6rem; height: .8rem; vertical-align: middle }
code, pre, textarea { font: .85rem/1.4 ui-monospace, monospace }
code { background: #f4f4f4; padding: 0 .2em }
td code { white-space: nowrap }
label { display: block; margin-top: .8rem }
textarea { width: 100%; border: 1px solid #bbb; background: #fafafa;
  padding: .5rem; resize: vertical }
details.finding { border: 1px solid #bbb; border-radius: .3rem;
  margin: 1rem 0; padding: 0 1rem }
details.finding > summary { cursor: pointer; font-weight: 600; padding: .7rem 0 }
details.finding[open] > summary { border-bottom: 1px solid #ddd }
.verdict { display: inline-block; padding: 0 .5rem; border-radius: .7rem;
  background: #d55e00; color: #fff; font-weight: 600; font-size: .85rem }
.curves { display: flex; flex-wrap: wrap; gap: 1rem }
figure { margin: 0 }
figure.curve { flex: 1 1 16rem; max-width: 26rem }
figure.curve svg { width: 100%; background: #f7f9fb; border: 1px solid #ddd }
figure.curve path { fill: none; stroke: #0072b2; stroke-width: 2;
  vector-effect: non-scaling-stroke }
figcaption { font-size: .85rem; color: #444 }
svg.grid { width: 100%; max-width: 44rem; display: block; background: #fff;
  border: 1px solid #999; margin: .25rem 0; shape-rendering: crispEdges }
.k0 { fill: #fff } .ka { fill: #dbe9f4 } .kb { fill: #c2d8ea }
.kc { fill: #efe6c3 } .kd { fill: #d9ead3 } .kz { fill: #eee }
.kx { fill: #d55e00; stroke: #000; stroke-width: .12 }
.k1 { fill: #cfe8f7 } .k2 { fill: #56b4e9 }
.k3 { fill: #e69f00 } .k4 { fill: #d55e00 }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap;
  gap: .2rem 1.2rem; font-size: .85rem; margin: .3rem 0 }
.legend svg { width: .9rem; height: .9rem; border: 1px solid #666;
  vertical-align: -.1rem; margin-right: .35rem }
td.ledger { line-height: 1.15; max-width: 60rem }
.ledger span { display: inline-block; width: 1.15em; text-align: center;
  border: 1px solid #999; margin: 0 1px 1px 0 }
.la { background: #56b4e9 } .ls { background: #f0e442 }
.lg { background: #e69f00 } .lo { background: #d55e00; color: #fff }
.words dt { font-weight: 600; margin-top: 1rem }
.words dd { margin: .2rem 0 .2rem 1rem }
.words p, .words ul { margin: .3rem 0 }
@media (max-width: 34rem) {
  body { padding: 0 .6rem 3rem }
  dl.facts { grid-template-columns: 1fr; gap: 0 }
  dl.facts dd { margin-bottom: .4rem }
  details.finding { padding: 0 .6rem }
}
@media print { * { print-color-adjust: exact } .skip { display: none } }
)";

}  // namespace mlafuzz
