"use strict";
/* The rules, applied to one case. The same as predict_state, predict_proba, explain and contrast of soar-jax:
   an unknown value satisfies nothing, "is missing" apart; what it leaves open is found by the same search.
   Cells of a column are bits; bit 0 stands for the value that the case has, whatever it is. */
function makeEngine(data) {
  const MISSING = "missing", POSITIVE = 0, NEGATIVE = 1, ACTIVE = 2, PASSIVE = 3;
  const MOST_STEPS = 20000, MOST_CHANGE_STEPS = 60000;
  const EARLIEST = Date.UTC(2000, 0, 2) - 63082281600000, LATEST = Date.UTC(9999, 11, 31);
  const columns = data.columns, rules = data.rules, numPositive = data.numPositive;
  class TooManySteps extends Error {}

  /* bits: whole numbers where they fit into 31 bits, else BigInt; one kind per column */
  const isLarge = columns.map((c) => c.cells.length > 28);
  const asBits = (value, c) => (isLarge[c] ? BigInt(value) : Number(value));
  const KEPT = columns.map((_, c) => (isLarge[c] ? 1n : 1));
  const oneCell = (c, k) => (isLarge[c] ? 2n << BigInt(k) : 2 << k);
  const NONE = columns.map((_, c) => (isLarge[c] ? 0n : 0));
  const FULL = columns.map((column, c) => column.cells.reduce((all, _, k) => all | oneCell(c, k), NONE[c]));
  const suits = rules.map((rule) => rule.suits.map(([c, bits]) => [c, asBits(bits, c)]));

  /* values */
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const MOMENT = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?$/;
  function levelText(text) {
    const lower = text.toLowerCase();
    if (lower === "true") return "1";
    if (lower === "false") return "0";
    const whole = /^([+-]*\d+)\.0+$/.exec(text);
    return whole ? whole[1] : text;
  }
  function numberOf(text) {
    const bare = text.trim();
    return NUMBER.test(bare) ? Number(bare) : NaN;
  }
  function momentOf(text) {
    const part = MOMENT.exec(text.trim());
    if (!part) return NaN;
    const [year, month, day, hour, minute, second] = part.slice(1, 7).map((p) => Number(p || 0));
    const time = new Date(0);
    time.setUTCFullYear(year, month - 1, day);
    time.setUTCHours(hour, minute, second);
    if (time.getUTCMonth() !== month - 1 || time.getUTCDate() !== day) return NaN;
    const clipped = Math.min(Math.max(time.getTime(), EARLIEST), LATEST);
    return clipped * 1000 + (clipped === time.getTime() ? Number((part[7] || "").padEnd(6, "0")) : 0);
  }
  const isAbsent = (value) => value === null || value === undefined;
  /* one condition on a value: true, false, or null where the value is not known */
  function holds(condition, value) {
    const [, op, reading, wanted] = condition;
    if (op === MISSING) return isAbsent(value);
    if (isAbsent(value)) return null;
    if (op === "in") return wanted.includes(levelText(value));
    if (reading === "level") return (levelText(value) === wanted) === (op === "==");
    const read = reading === "moment" ? momentOf(value) : numberOf(value);
    return op === "<=" ? read <= wanted : read > wanted;
  }

  const stateOf = (plus, minus) => (plus && minus ? ACTIVE : plus ? POSITIVE : minus ? NEGATIVE : PASSIVE);
  /* every rule on a case: a text or null per column */
  function check(values) {
    return rules.map((rule) => {
      const truths = rule.conditions.map((z) => holds(z, values[z[0]]));
      return {
        rule,
        truths,
        fires: truths.every((t) => t === true),
        live: !rule.never && truths.every((t) => t !== false),
        failed: truths.filter((t) => t === false).length,
        unknown: truths.filter((t) => t === null).length,
      };
    });
  }
  const fires = (checked, side) => checked.some((c, r) => c.fires && (r < numPositive) === (side === 0));
  const state = (checked) => stateOf(fires(checked, 0), fires(checked, 1));

  /* boxes in which no rule fires, whichever of their values is taken: calls `found` with each until it says stop */
  function silentBoxes(start, against, steps, allowed, budget, found) {
    const seen = new Set();
    const cells = (box, c) => (box.has(c) ? box.get(c) : KEPT[c]);
    function ways(rule, box, left) {
      const list = [];
      for (const [c, wanted] of rule) {
        const open = box.has(c) ? box.get(c) : left > 0 && allowed.has(c) ? allowed.get(c) : NONE[c];
        const rest = open & ~wanted;
        if (rest) list.push([c, rest]);
      }
      return list;
    }
    function visit(box, left) {
      const key = [...box].sort((a, b) => a[0] - b[0]).join(";");
      if (seen.has(key)) return false;
      seen.add(key);
      if (--steps.left < 0) throw new TooManySteps();
      let fewest = null;
      for (const rule of against) {
        if (!rule.every(([c, wanted]) => cells(box, c) & wanted)) continue;
        const list = ways(rule, box, left);
        if (fewest === null || list.length < fewest.length) {
          fewest = list;
          if (!list.length) return false;
        }
      }
      if (fewest === null) return found(box);
      for (const [c, rest] of fewest) {
        if (visit(new Map(box).set(c, rest), left - (box.has(c) ? 0 : 1))) return true;
      }
      return false;
    }
    return visit(start, budget);
  }
  function canBeSilent(box, against) {
    try {
      return silentBoxes(box, against, { left: MOST_STEPS }, new Map(), 0, () => true);
    } catch (error) {
      if (error instanceof TooManySteps) return true;
      throw error;
    }
  }

  /* unknown columns that a rule in play reads */
  function columnsInPlay(values, checked) {
    const read = new Set();
    checked.forEach((c, r) => { if (c.live) suits[r].forEach(([k]) => read.add(k)); });
    return columns.map((_, c) => c).filter((c) => isAbsent(values[c]) && read.has(c));
  }
  /* states that the unknown values leave open; `given` fixes the cell of some of them */
  function openStates(checked, asked, given) {
    const everything = new Map(asked.map((c) => [c, given && given.has(c) ? given.get(c) : FULL[c]]));
    const sides = [[], []];
    checked.forEach((one, r) => {
      if (!one.live) return;
      const wants = suits[r].filter(([c]) => everything.has(c)).map(([c, bits]) => [c, bits & everything.get(c)]);
      if (wants.every(([, bits]) => bits)) sides[r < numPositive ? 0 : 1].push(wants);
    });
    const [plus, minus] = sides;
    const meet = (one, other) => one.every(([c, bits]) => other.every(([k, more]) => c !== k || bits & more));
    const within = (rule) => { const box = new Map(everything); rule.forEach(([c, bits]) => box.set(c, bits)); return box; };
    const found = [];
    if (plus.some((p) => canBeSilent(within(p), minus))) found.push(POSITIVE);
    if (minus.some((n) => canBeSilent(within(n), plus))) found.push(NEGATIVE);
    if (plus.some((p) => minus.some((n) => meet(p, n)))) found.push(ACTIVE);
    if (canBeSilent(everything, [...plus, ...minus])) found.push(PASSIVE);
    return found;
  }
  function possible(values, checked) {
    const asked = columnsInPlay(values, checked);
    return { asked, states: asked.length ? openStates(checked, asked, null) : [state(checked)] };
  }
  /* of the unknown columns in play, which leaves fewest states open when answered, by how common its cells are */
  function askFirst(checked, asked, budget) {
    const end = performance.now() + budget, scored = [];
    for (const c of asked) {
      let left = 0, total = 0;
      const common = columns[c].common;
      for (let k = 0; k < columns[c].cells.length; k++) {
        if (performance.now() > end) return { order: asked, settles: null };
        const weight = common ? common[k] : 1;
        if (!weight) continue;
        const open = openStates(checked, asked, new Map([[c, oneCell(c, k)]])).length;
        left += weight * open;
        total += weight;
      }
      scored.push([total ? left / total : 9, c]);
    }
    scored.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return { order: scored.map((s) => s[1]), settles: scored.length ? scored[0][0] : null };
  }

  /* the fewest columns to change so that one of `wanted` fires and none of `unwanted` does: all such boxes */
  function smallestChanges(wanted, unwanted, allowed) {
    const steps = { left: MOST_CHANGE_STEPS };
    const begins = [];
    for (const rule of wanted) {
      const box = new Map(), free = new Map();
      let works = true;
      for (const [c, bits] of rule) {
        if (bits & KEPT[c]) continue;
        const cells = (allowed.get(c) ?? NONE[c]) & bits;
        if (!cells) works = false;
        box.set(c, cells);
      }
      if (!works) continue;
      for (const [c, bits] of allowed) {
        if (box.has(c)) continue;
        const mine = rule.find(([k]) => k === c);
        const cells = mine ? bits & mine[1] : bits;
        if (cells) free.set(c, cells);
      }
      begins.push([box, free]);
    }
    let some = null;
    try {
      for (const [box, free] of begins) {
        silentBoxes(box, unwanted, steps, free, free.size, (found) => {
          if (some === null || found.size < some.size) some = found;
          return true;
        });
      }
      if (some === null) return { boxes: [], complete: true };
      for (let size = 0; size <= some.size; size++) {
        const boxes = [];
        for (const [box, free] of begins) {
          if (box.size > size) continue;
          silentBoxes(box, unwanted, steps, free, size - box.size, (found) => { boxes.push(found); return false; });
        }
        if (boxes.length) return { boxes, complete: true };
      }
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      return { boxes: some === null ? [] : [some], complete: false };
    }
    return { boxes: [], complete: true };
  }
  /* cells that suit each rule, with bit 0 where the case's own value does */
  function suitsOf(values) {
    return rules.map((rule, r) => {
      const own = new Map();
      rule.conditions.forEach((z) => own.set(z[0], (own.get(z[0]) ?? true) && holds(z, values[z[0]]) === true));
      const wantsMissing = new Set(rule.conditions.filter((z) => z[1] === MISSING).map((z) => z[0]));
      const cells = new Map(suits[r]);
      return [...own].map(([c, isMet]) =>
        [c, (wantsMissing.has(c) ? NONE[c] : cells.get(c)) | (isMet ? KEPT[c] : NONE[c])]);
    });
  }

  /* a value in one of some cells, near the present one */
  function decimals(x) {
    const text = String(x);
    const e = /e-(\d+)$/.exec(text);
    if (e) return Number(e[1]);
    return text.includes(".") ? text.length - text.indexOf(".") - 1 : 0;
  }
  function numberIn(low, high, present, cuts, isMoment) {
    const known = Number.isFinite(present);
    if (known && present > low && present <= high) return present;
    if (known && present > high) {
      const whole = Math.floor(high);
      return !isMoment && cuts.every((x) => Number.isInteger(x * 2)) && Number.isInteger(present) && whole > low ? whole : high;
    }
    if (low === -Infinity) return high === Infinity ? 0 : high;
    const tries = [];
    if (isMoment) tries.push(low + 86400e6, low + 3600e6, low + 60e6);
    else {
      const isWhole = cuts.every((x) => Number.isInteger(x * 2)) && (!known || Number.isInteger(present));
      if (isWhole) tries.push(Math.floor(low) + 1);
      const digits = Math.min(9, Math.max(...cuts.map(decimals), known ? decimals(present) : 0));
      for (let d = digits; d <= 9; d++) tries.push(Number((low + 10 ** -d).toFixed(9)));
    }
    const found = tries.find((x) => x > low && x <= high);
    return found === undefined ? high : found;
  }
  function momentText(microseconds) {
    const text = new Date(microseconds / 1000).toISOString();
    return text.slice(11, 19) === "00:00:00" ? text.slice(0, 10) : text.slice(0, 16);
  }
  function nearest(c, bits, value) {
    const column = columns[c], mine = column.cells.map((cell, k) => [cell, k]).filter(([, k]) => bits & oneCell(c, k));
    let best = null;
    const offer = (text, far) => { if (best === null || far < best.far) best = { text, far }; };
    for (const [cell, k] of mine) {
      if (cell.kind === "number" || cell.kind === "moment") {
        const isMoment = cell.kind === "moment";
        const present = isAbsent(value) ? NaN : isMoment ? momentOf(value) : numberOf(value);
        const cuts = column.cells.flatMap((x) => [x.low, x.high]).filter((x) => x !== undefined);
        const near = numberIn(cell.low ?? -Infinity, cell.high ?? Infinity, present, cuts, isMoment);
        const codes = column.options.map((o) => Number(o[0])).filter((x) => x > (cell.low ?? -Infinity) && x <= (cell.high ?? Infinity));
        const taken = codes.length ? codes.reduce((a, b) => (Math.abs(b - near) < Math.abs(a - near) ? b : a)) : near;
        const far = Number.isFinite(present) ? Math.abs(taken - present) / column.scale : 0.5;
        offer(isMoment ? momentText(taken) : String(taken), far);
      } else {
        const place = isAbsent(value) ? -1 : column.cells.findIndex((x) => x.value === levelText(value));
        if (place >= 0 && place < column.ordered && k < column.ordered) {
          offer(cell.value, Math.abs(k - place) / column.ordered);
          continue;
        }
        const share = column.common ? column.common[k] : 0;
        const known = cell.kind === "other" ? column.options.find(([v]) => column.cells.every((x) => x.value !== v)) : null;
        offer(known ? known[0] : cell.value, (cell.kind === "other" ? 1.05 : 1) - share / 100);
      }
    }
    return best;
  }
  function describeChanges(found, values, goals) {
    const best = new Map();
    for (const box of found.boxes) {
      if (!box.size) continue;
      const after = values.slice(), diff = [];
      let far = 0;
      for (const [c, bits] of [...box].sort((a, b) => a[0] - b[0])) {
        const near = nearest(c, bits, values[c]);
        if (near === null) { diff.length = 0; break; }
        after[c] = near.text;
        far += near.far;
        diff.push({ column: c, from: values[c], to: near.text });
      }
      if (!diff.length) continue;
      const checked = check(after), then = state(checked);
      if (!goals.includes(then)) continue;
      const key = `${then}:${diff.map((d) => d.column).join()}`;
      if (!best.has(key) || far < best.get(key).far) {
        best.set(key, { diff, after, far, state: then, fired: checked.flatMap((x, r) => (x.fires ? [r] : [])) });
      }
    }
    const list = [...best.values()].map((x) => ({ ...x, rows: (data.patterns[x.fired.join()] || [0])[0] }));
    list.sort((a, b) => (b.rows > 0) - (a.rows > 0) || a.far - b.far);
    return list;
  }
  /* changes that lead to agreement for a side; for one rule set, silence is the other side */
  function changesTo(values, side) {
    const all = suitsOf(values);
    const own = all.slice(0, numPositive), other = all.slice(numPositive);
    const allowed = new Map(columns.map((column, c) => [c, column.fixed ? NONE[c] : FULL[c]]));
    const isSilence = data.single && side === NEGATIVE;
    const found = smallestChanges(isSilence ? [[]] : side === POSITIVE ? own : other, side === POSITIVE ? other : own, allowed);
    return { ...found, list: describeChanges(found, values, [isSilence ? PASSIVE : side]) };
  }
  /* changes that end an agreement: its rules fall silent, or an opposite one applies */
  function changesFrom(values, now) {
    const all = suitsOf(values);
    const own = now === POSITIVE ? all.slice(0, numPositive) : all.slice(numPositive);
    const other = now === POSITIVE ? all.slice(numPositive) : all.slice(0, numPositive);
    const allowed = new Map(columns.map((column, c) => [c, column.fixed ? NONE[c] : FULL[c]]));
    const parts = [smallestChanges([[]], own, allowed), smallestChanges(other, [], allowed)];
    const goals = [POSITIVE, NEGATIVE, ACTIVE, PASSIVE].filter((s) => s !== now);
    const least = Math.min(...parts.flatMap((p) => p.boxes.map((b) => b.size)));
    const found = { boxes: parts.flatMap((p) => p.boxes).filter((b) => b.size === least), complete: parts.every((p) => p.complete) };
    return { ...found, list: describeChanges(found, values, goals) };
  }

  return { check, state, possible, askFirst, changesTo, changesFrom, isAbsent, numberOf, levelText, numPositive };
}
