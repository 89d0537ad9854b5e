/* The page: rules that sort, filter and open, disputes, and the form. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const engine = makeEngine(data), result = makeResult(data, engine);
  const one = (selector, within) => (within || document).querySelector(selector);
  const every = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const show = (node) => node && node.removeAttribute("hidden");

  /* rules */
  function openRule(id) {
    const rule = document.getElementById(`rule-${id}`);
    if (!rule) return;
    const fold = rule.parentElement.closest("details");
    if (fold) fold.open = true;
    if (rule.hidden) { one("#find").value = ""; arrange(); }
    rule.open = true;
    rule.scrollIntoView({ block: "start" });
    one("summary", rule).focus({ preventScroll: true });
  }
  every("[data-go]").forEach((link) => link.addEventListener("click", (event) => { event.preventDefault(); openRule(link.dataset.go); }));
  function arrange() {
    const by = one("#sort").value, wanted = one("#find").value.trim().toLowerCase();
    const direction = by === "place" || by === "length" ? 1 : -1;
    let shown = 0, total = 0;
    every(".set").forEach((set) => {
      const rules = every(".rule", set);
      rules.sort((a, b) => direction * (a.dataset[by] - b.dataset[by]) || a.dataset.place - b.dataset.place);
      const lists = every(".list", set), fold = one(".more", set), first = fold ? lists[0].dataset.size || rules.length - lists[1].children.length : rules.length;
      if (fold) lists[0].dataset.size = first;
      let placed = 0, folded = 0;
      rules.forEach((rule) => {
        const matches = !wanted || `${one(".say", rule).textContent} ${one("code", rule).textContent}`.toLowerCase().includes(wanted);
        rule.hidden = !matches;
        const goesUp = !fold || (matches && placed < first);
        if (matches) { placed += 1; shown += 1; }
        if (!goesUp && matches) folded += 1;
        lists[goesUp ? 0 : 1].append(rule);
      });
      total += rules.length;
      if (fold) { fold.hidden = folded === 0; one("summary", fold).textContent = `${folded} more rule${folded === 1 ? "" : "s"}`; }
    });
    one("#found").textContent = wanted ? `${shown} of ${total} rules` : "";
  }
  if (one("#tools")) {
    show(one("#tools"));
    one("#sort").addEventListener("change", arrange);
    one("#find").addEventListener("input", arrange);
  }

  /* disputes */
  const boxes = every("[data-dispute]");
  function showPair(box) {
    const isMap = box.closest(".map") !== null;
    boxes.forEach((b) => { b.setAttribute("aria-pressed", String(b === box)); if (isMap) b.tabIndex = b === box ? 0 : -1; });
    const [plus, minus, rows, share, low, high, ahead] = data.disputes[Number(box.dataset.dispute)];
    const few = share === null;
    one("#pair").replaceChildren(
      element("p", {}, element("b", {}, `${plus} and ${minus} speak together about ${rows === null ? "fewer than 10" : withCommas(rows)} ${data.unit}`), ". ",
        few ? "Too few to say how they end." : `Of these ${ofHundred(share)} are in fact ${data.yes}, 90 % range ${spanOf(low, high, share)}.`),
      element("p", { class: "small" }, element("a", { href: `#rule-${plus}`, class: "id y", onclick: (e) => { e.preventDefault(); openRule(plus); } }, plus), " ", sayRule(data.phrases[plus])),
      element("p", { class: "small" }, element("a", { href: `#rule-${minus}`, class: "id n", onclick: (e) => { e.preventDefault(); openRule(minus); } }, minus), " ", sayRule(data.phrases[minus])),
      few ? "" : element("p", { class: "small soft" }, ahead ? `The outcome goes with ${ahead} more often than not.` : "Neither rule is ahead: the range includes one half."));
  }
  boxes.forEach((box) => {
    box.addEventListener("click", () => showPair(box));
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      const cell = box.closest("td");
      if (!step || !cell) return;
      event.preventDefault();
      const rows = every("tbody tr", cell.closest("table"));
      let i = rows.indexOf(cell.parentElement), j = [...cell.parentElement.children].indexOf(cell);
      for (;;) {
        i += step[0]; j += step[1];
        const there = rows[i] && rows[i].children[j];
        if (!there || j === 0) return;
        const button = one("button", there);
        if (button) { button.focus(); showPair(button); return; }
      }
    });
  });
  if (boxes.length) showPair(boxes.reduce((a, b) => (Number(b.dataset.dispute) < Number(a.dataset.dispute) ? b : a)));

  /* the form */
  const form = one("#case");
  document.body.dataset.ready = "yes";
  if (!form) return;
  const inputs = every("[data-field]", form);
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i, WITH_COMMA = /^[+-]?\d*,\d+$/, GROUPED = /^[+-]?\d{1,3},\d{3}$/;
  /* a number as typed: null where nothing is, undefined where it cannot be read, or could be read in two ways */
  function numberTyped(text) {
    if (text === "") return null;
    if (NUMBER.test(text)) return text;
    return WITH_COMMA.test(text) && !GROUPED.test(text) ? text.replace(",", ".") : undefined;
  }
  const read = () => inputs.map((input, c) => {
    const { kind, options } = data.columns[c], text = input.value.trim();
    if (text === "") return null;
    if (options.length) return options[Number(text)][0];
    return kind === "number" ? numberTyped(text) : input.value;
  });
  function fill(values) {
    inputs.forEach((input, c) => {
      const value = values[c], { options, hasTime } = data.columns[c];
      if (value === null || value === undefined) input.value = "";
      else if (options.length) input.value = String(options.findIndex(([v]) => v === value));
      else input.value = hasTime && String(value).length === 10 ? `${value}T00:00` : String(value);
    });
    render();
  }
  const asValues = (record) => data.columns.map((column) => {
    const value = record[column.name];
    if (value === null || value === undefined) return null;
    const text = String(value);
    if (!column.options.length) return text;
    const known = column.options.find(([v]) => v === engine.levelText(text));
    const other = column.cells.find((cell) => cell.kind === "other");
    return known ? known[0] : other ? other.value : text;
  });
  function hint(column, value) {
    if (column.kind !== "number" || column.low === undefined) return ["", false];
    const c = data.columns.indexOf(column), text = `${result.valueText(c, String(column.low))} to ${result.valueText(c, String(column.high))}`;
    const number = value === null ? NaN : Number(value);
    return number < column.low || number > column.high ? [`Unlike nearly all ${data.noun} (${text})`, true] : [`mostly ${text}`, false];
  }
  let said = "", timer = 0;
  function render() {
    const typed = read(), notRead = data.columns.map((_, c) => c).filter((c) => typed[c] === undefined);
    const values = typed.map((value) => (value === undefined ? null : value));
    const checked = engine.check(values), state = engine.state(checked);
    const { asked, states } = engine.possible(values, checked);
    const fired = checked.flatMap((x, r) => (x.fires ? [r] : []));
    const view = { values, checked, state, asked, possible: states, fired };
    const isOpen = states.length > 1, isEmpty = values.every((v) => v === null);
    data.columns.forEach((column, c) => {
      const place = document.getElementById(`hint-${c}`);
      if (!place) return;
      const isBad = notRead.includes(c), [text, isOutside] = isBad ? ["Not read as a number. Write it as 1234.5", true] : hint(column, values[c]);
      place.textContent = text;
      place.parentElement.classList.toggle("warn", isOutside);
      inputs[c].setAttribute("aria-invalid", String(isBad));
    });
    const box = one("#result");
    Object.assign(box.dataset, {
      state: data.states[state].name, chance: String(data.states[state].chance), fired: fired.map((r) => data.rules[r].id).join(" "),
      possible: states.map((s) => data.states[s].name).join(" "), asked: asked.map((c) => data.columns[c].name).join("\u001f"),
    });
    if (notRead.length) {
      const names = notRead.map(result.label).join(", ");
      Object.assign(box.dataset, { state: "", chance: "", fired: "", possible: "", asked: "" });
      box.replaceChildren(element("p", { class: "headline" }, element("span", {}, "Not a number")), element("p", {}, `What stands in ${names} was not read, so nothing is said of this case.`));
      one("#detail").replaceChildren();
      one("#foot").replaceChildren();
      return;
    }
    box.replaceChildren(...(isEmpty
      ? [element("p", { class: "headline" }, mark(3), element("span", {}, "Nothing entered yet")), element("p", { class: "soft" }, "Fill in any field, or take a made-up case.")]
      : isOpen ? result.unsettled(view) : result.settled(view)).filter(Boolean));
    one("#detail").replaceChildren(...(isEmpty ? [] : [result.firedLists(view), isOpen ? "" : result.changeList(view, (after) => { fill(after); box.focus({ preventScroll: true }); })]));
    const headline = isEmpty ? "" : isOpen ? "Not settled yet" : data.states[state].say;
    one("#foot").replaceChildren(...(headline ? [isOpen ? "" : mark(state), element("span", {}, headline), element("a", { href: "#result" }, "Why")] : []));
    const speech = isEmpty ? "Nothing entered." : isOpen ? `Not settled yet. Ask for ${asked.map(result.label).join(", ")}.` : `${headline}. Chance of ${data.yes} ${ofHundred(data.states[state].chance)}.`;
    clearTimeout(timer);
    if (speech !== said) timer = setTimeout(() => { said = speech; one("#live").textContent = speech; }, 500);
  }
  show(one("#trying"));
  form.addEventListener("input", render);
  form.addEventListener("submit", (event) => event.preventDefault());
  one("#clear").addEventListener("click", () => fill([]));
  every("[data-start]").forEach((button) => button.addEventListener("click", () => fill(asValues(data.starts[button.dataset.start]))));
  every("[data-example]").forEach((button) => {
    show(button);
    button.addEventListener("click", () => {
      fill(asValues(data.examples[Number(button.dataset.example)]));
      one("#try").scrollIntoView({ block: "start" });
      one("#result").focus({ preventScroll: true });
    });
  });
  const begin = ["2", "0", "1", "3"].find((k) => data.starts[k]);
  if (begin) fill(asValues(data.starts[begin])); else render();
})();
