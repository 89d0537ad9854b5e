/* What the page says of a case, built as elements: no text of the table is ever read as HTML. */
/* marks that turn the text around them are written out */
const withoutTurns = (text) => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (m) => `\\u${m.charCodeAt(0).toString(16).padStart(4, "0")}`);
function element(tag, attributes, ...children) {
  const SVG = ["svg", "line", "circle", "rect", "text"];
  const made = SVG.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  const shown = children.flat(9).filter((c) => c !== null && c !== undefined && c !== false);
  made.append(...shown.map((c) => (typeof c === "string" ? withoutTurns(c) : c)));
  return made;
}
const mark = (state) => element("svg", { class: "mark", viewBox: "0 0 26 16", "aria-hidden": "true" },
  element("circle", { class: state === 0 || state === 2 ? "y" : "off", cx: 7, cy: 8, r: 5.6, "stroke-width": 1.4 }),
  element("rect", { class: state === 1 || state === 2 ? "n" : "off", x: 15, y: 3, width: 10, height: 10, "stroke-width": 1.4 }));
function perHundred(share) {
  const isFine = (share > 0 && share < 0.0095) || (share > 0.9905 && share < 1);
  const text = (100 * share).toFixed(isFine ? 1 : 0);
  return text === "0.0" ? "fewer than 0.1" : text === "100.0" ? "more than 99.9" : text;
}
const ofHundred = (share) => `${perHundred(share)} of 100`;
const spanOf = (low, high, of) => {
  const isFine = (of > 0 && of < 0.0995) || (of > 0.9895 && of < 1);
  const digits = isFine || high < 0.0995 || low > 0.9895 ? 1 : 0;
  return `${(100 * low).toFixed(digits)}–${(100 * high).toFixed(digits)}`;
};
const withCommas = (n) => Math.round(n).toLocaleString("en-US");
const joined = (list, last) => (list.length > 1 ? `${list.slice(0, -1).join(", ")} ${last} ${list[list.length - 1]}` : list.join(""));
const sayRule = (phrases) => phrases.flatMap((p, i) => (i ? [" ", element("i", {}, "and"), " ", p] : [p]));

function makeResult(data, engine) {
  const { columns, states } = data;
  const MOST_SHOWN = 12, MOST_NEAR = 6;
  const label = (c) => columns[c].label;
  function valueText(c, value) {
    if (engine.isAbsent(value)) return "not known";
    const named = columns[c].options.find(([v]) => v === value);
    if (named) return named[1];
    const { unit } = columns[c], number = Number(value);
    if (columns[c].kind !== "number" || !Number.isFinite(number)) return value;
    const isMoney = ["$", "€", "£", "¥"].includes(unit);
    const text = Math.abs(number) >= 10000 || isMoney ? number.toLocaleString("en-US", { maximumFractionDigits: 9 }) : String(number);
    return isMoney ? `${unit}${text}` : unit ? `${text} ${unit}` : text;
  }

  /* the scale from 0 to 100: ring for the model, bar for tested rows, dashes for what is open */
  function scale(marks, tested, open, words) {
    const at = (share) => `${(100 * share).toFixed(2)}%`;
    const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((t) => [
      element("line", { class: "tick", x1: at(t), x2: at(t), y1: 9, y2: 15 }),
      element("text", { x: at(t), y: 32, "text-anchor": t === 0 ? "start" : t === 1 ? "end" : "middle" }, String(100 * t))]);
    return element("svg", { class: "scale", role: "img", "aria-label": words },
      element("line", { class: "axis", x1: 0, x2: "100%", y1: 12, y2: 12 }), ticks,
      tested && element("line", { class: "tested", x1: at(tested[0]), x2: at(tested[1]), y1: 12, y2: 12 }),
      open && element("line", { class: "open", x1: at(open[0]), x2: at(open[1]), y1: 12, y2: 12 }),
      marks.map((m) => element("circle", { class: "ring", cx: at(m), cy: 12, r: 6.5 })));
  }
  function settled(view) {
    const s = states[view.state];
    const unknown = columns.map((_, c) => c).filter((c) => engine.isAbsent(view.values[c]));
    const same = data.patterns[view.fired.join()];
    const isTested = s.share !== null && s.share !== undefined;
    return [
      element("p", { class: "headline" }, mark(view.state), element("span", {}, s.say)),
      element("p", { class: "soft" }, s.why, " ", element("span", { class: "tech" }, `(${s.technical})`)),
      unknown.length > 0 && element("p", { class: "small soft" }, `Not known: ${joined(unknown.map(label), "and")}. No answer there would change this result.`),
      element("div", { class: "chance" }, `Chance of ${data.yes}, by the model: `, element("b", {}, ofHundred(s.chance)),
        scale([s.chance], isTested ? [s.low, s.high] : null, null,
          `Scale from 0 to 100: model ${perHundred(s.chance)}${isTested ? `, ${data.noun} ${perHundred(s.share)}` : ""}`),
        element("p", { class: "small soft" }, isTested
          ? [`Ring: model. Bar: ${data.noun} in the same state, `, element("b", {}, ofHundred(s.share)), ` (90 % range ${spanOf(s.low, s.high, s.share)}, ${withCommas(s.rows)} ${data.unit}).`]
          : data.testedRows
            ? `Ring: model. Too few ${data.noun} are in this state to check that chance.`
            : "Ring: model. There are no figures of tested rows for this state.",
        view.fired.length > 0 && same ? [` The model looks no deeper than the state; among the ${withCommas(same[0])} to whom exactly these rules apply it was `, element("b", {}, ofHundred(same[1])), ` (${spanOf(same[2], same[3], same[1])}).`]
          : view.fired.length > 0 && Object.keys(data.patterns).length > 0 && ` Exactly these rules apply to fewer than 30 ${data.noun}, too few for a figure of their own.`)),
    ];
  }
  function unsettled(view) {
    const chances = view.possible.map((k) => states[k].chance);
    const low = Math.min(...chances), high = Math.max(...chances), s = states[view.state];
    const { order, settles } = engine.askFirst(view.checked, view.asked, 120);
    const [first, ...rest] = order.map(label);
    const ask = settles === null || !rest.length
      ? ["Ask for ", element("b", {}, joined(order.map(label), "and")), "."]
      : ["Ask first for ", element("b", {}, first), settles <= 1 ? ": it alone would settle the case." : ".", ` Then: ${rest.join(", ")}.`];
    const others = columns.map((_, c) => c).filter((c) => engine.isAbsent(view.values[c]) && !view.asked.includes(c));
    return [
      element("p", { class: "headline" }, element("span", {}, "Not settled yet")),
      element("p", {}, "Still possible: ", view.possible.flatMap((k, i) => [i ? "; " : "", mark(k), " ", states[k].short]), "."),
      element("p", {}, ask, others.length > 0 && element("span", { class: "soft" }, " The other empty fields make no difference.")),
      element("div", { class: "chance" }, `Chance of ${data.yes}, by the model: `, element("b", {}, `${perHundred(low)} to ${ofHundred(high)}`),
        scale(chances, null, [low, high], `Scale from 0 to 100: between ${perHundred(low)} and ${perHundred(high)}`),
        element("p", { class: "small soft" }, `Taken as entered, a rule with an unknown condition does not apply; that would be “${s.short}” `,
          element("span", { class: "tech" }, `(${s.technical}, ${ofHundred(s.chance)}).`))),
    ];
  }
  function ruleLine(one, r, values) {
    const { rule } = one, side = r < engine.numPositive ? "y" : "n";
    const failed = rule.conditions.filter((_, i) => one.truths[i] === false);
    const unknown = rule.conditions.filter((_, i) => one.truths[i] === null);
    if (one.fires) return element("li", {}, element("span", { class: `id ${side}` }, rule.id), element("span", {}, element("b", {}, "Applies: "), sayRule(data.phrases[rule.id])));
    const said = failed.length
      ? [`${failed.length === 1 && !unknown.length ? "One condition not met" : "Not met"}: `, failed.flatMap((z, i) => [i ? "; " : "", z[4], element("span", { class: "soft" }, ` (here ${valueText(z[0], values[z[0]])})`)])]
      : [element("b", {}, "Cannot tell: "), `${joined([...new Set(unknown.map((z) => label(z[0])))], "and")} not known`];
    return element("li", { class: "off" }, element("span", { class: "id" }, rule.id), element("span", {}, said));
  }
  function firedLists(view) {
    const side = (from, to, name, letter) => {
      const mine = view.checked.slice(from, to).map((one, i) => [one, from + i]);
      let shown = mine;
      if (mine.length > MOST_SHOWN) {
        const near = mine.filter(([one]) => !one.fires && one.failed <= 1).sort((a, b) => a[0].failed - b[0].failed || a[0].unknown - b[0].unknown);
        const kept = new Set([...mine.filter(([one]) => one.fires), ...near.slice(0, MOST_NEAR)].map((m) => m[1]));
        shown = mine.filter(([, r]) => kept.has(r));
      }
      return element("div", { class: letter }, element("h3", {}, `For ${name}`),
        element("ul", {}, shown.map(([one, r]) => ruleLine(one, r, view.values)),
          shown.length < mine.length && element("li", { class: "off" }, element("span", {}), element("span", {}, `${mine.length - shown.length} more do not apply.`)),
          !mine.length && element("li", { class: "off" }, element("span", {}), element("span", {}, "There is no rule on this side."))));
    };
    return element("div", { class: "fired" }, side(0, engine.numPositive, data.yes, "y"),
      !data.single && side(engine.numPositive, data.rules.length, data.no, "n"));
  }
  function changeList(view, apply) {
    const isAnswer = data.single ? [0, 3].includes(view.state) : view.state < 2;
    let found, picked, title;
    if (isAnswer && !data.single) {
      found = [engine.changesFrom(view.values, view.state)];
      picked = found[0].list.slice(0, 3);
      const many = picked.length ? picked[0].diff.length : 0;
      title = many === 1 ? "One different answer would end this agreement" : `${many} different answers would end this agreement`;
    } else {
      const sides = data.single ? [view.state === 0 ? 1 : 0] : [0, 1];
      found = sides.map((side) => engine.changesTo(view.values, side));
      picked = found.flatMap((f) => f.list.slice(0, data.single ? 3 : 2));
      title = data.single ? "The smallest difference that would change this result" : "The smallest difference that would make the rules agree";
    }
    const isWhole = found.every((f) => f.complete);
    if (!picked.length) {
      return element("p", { class: "small soft" }, isWhole ? "No change of what the rules read leads to another result." : "The search for a change was stopped; there may be one.");
    }
    return element("div", {}, element("p", { class: "head" }, title), element("ul", { class: "changes" }, picked.map((change) =>
      element("li", {}, element("span", {}, change.diff.flatMap((d, i) => [i ? [" ", element("i", {}, "and"), " "] : [], `${label(d.column)} `, element("b", {}, valueText(d.column, d.to)), element("span", { class: "soft" }, ` instead of ${valueText(d.column, d.from)}`)]),
        element("br"), element("span", { class: "small soft" }, `then: ${states[change.state].short}`, !change.rows && Object.keys(data.patterns).length > 0 && `; fewer than 30 ${data.noun} are like that`)),
      element("button", { type: "button", class: "button", onclick: () => apply(change.after) }, "Try it")))),
    element("p", { class: "small soft" }, "A difference in what the rules read. Not advice, and not a promise that changing it changes the outcome.", !isWhole && " The search was stopped: there may be smaller changes."));
  }
  return { settled, unsettled, firedLists, changeList, valueText, label };
}
