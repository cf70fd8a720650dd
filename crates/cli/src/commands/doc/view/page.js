"use strict";
// The document at any version: all operations, each with its change. An operation is visible if its change is part of the
// version and no operation of the version has replaced it.
const facts = JSON.parse(document.getElementById("facts").textContent);
const changes = facts.changes;
const at = (id) => document.getElementById(id);

function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

const colour = (actor) => `hsl(${(actor * 137.5) % 360} 70% 80%)`;

// Objects by id: for maps the operations per key, for lists and texts the elements.
const objects = new Map([["_", { kind: "map", keys: new Map(), elements: new Map(), first: [] }]]);
const operations = new Map();

// Compares ids: by counter, then by actor, which are numbered in byte order.
function later(a, b) {
  return a.counter - b.counter || a.actor - b.actor;
}

function read(change, number) {
  let counter = change.start;
  const take = (said, value, element, insert) => {
    const id = `${counter}@${change.actor}`;
    const operation = { id, counter, actor: change.actor, change: number, said, value, element, replaced: [], added: [], next: [] };
    counter += 1;
    operations.set(id, operation);
    if (said.a === "make") {
      objects.set(id, { kind: said.v, keys: new Map(), elements: new Map(), first: [] });
    }
    for (const pred of said.p || []) {
      const before = operations.get(pred);
      (said.a === "add" ? before.added : before.replaced).push(operation);
    }
    if (said.a === "delete" || said.a === "add") return id;
    const object = objects.get(said.o);
    if (said.k !== undefined) {
      if (!object.keys.has(said.k)) object.keys.set(said.k, []);
      object.keys.get(said.k).push(operation);
    } else if (insert) {
      operation.values = [operation];
      object.elements.set(id, operation);
      (element === "_" ? object.first : object.elements.get(element).next).push(operation);
    } else {
      object.elements.get(element).values.push(operation);
    }
    return id;
  };
  for (const said of change.ops) {
    if (said.a === "type") {
      let element = said.e;
      for (const c of said.v) element = take(said, c, element, true);
    } else {
      take(said, said.v, said.e, said.i);
    }
  }
}

changes.forEach(read);

// The elements of lists and texts in order: insertions after an element follow it, the latest first.
for (const object of objects.values()) {
  const todo = object.first.sort(later);
  object.order = [];
  while (todo.length > 0) {
    const element = todo.pop();
    object.order.push(element);
    for (const next of element.next.sort(later)) todo.push(next);
  }
}

// The changes of the version, by index.
let part = new Uint8Array(changes.length);
let chosen = null;

const is = (operation) => part[operation.change] === 1;
const seen = (operation) => is(operation) && !operation.replaced.some(is);
const values = (all) => all.filter((one) => seen(one) && one.said.a !== "mark" && one.said.a !== "end").sort(later);

// The value of a counter is the sum of its increments.
function scalar(operation) {
  const { said, value } = operation;
  if (said.t !== "counter") return value;
  const sum = operation.added.filter(is).reduce((sum, one) => sum + BigInt(one.said.v), BigInt(value));
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : String(sum);
}

// The value as JSON: the winner of concurrent values.
function plain(operation) {
  if (operation.said.a !== "make") return scalar(operation);
  return inside(operation.id);
}

function inside(id) {
  const object = objects.get(id);
  if (object.kind === "list") {
    return object.order.map((one) => values(one.values)).filter((all) => all.length > 0).map((all) => plain(all.at(-1)));
  }
  if (object.kind === "text") {
    const winners = object.order.map((one) => values(one.values).at(-1)).filter((one) => one);
    return winners.map((one) => (typeof one.value === "string" && one.said.a !== "make" ? one.value : "\ufffc")).join("");
  }
  const members = [...object.keys].map(([key, all]) => [key, values(all)]).filter(([, all]) => all.length > 0);
  return Object.fromEntries(members.map(([key, all]) => [key, plain(all.at(-1))]));
}

function who(operation) {
  const change = changes[operation.change];
  return `${facts.actors[change.actor].slice(0, 8)}, change ${change.hash.slice(0, 10)}${when(change)}`;
}

const when = (change) => (change.time > 0 ? `, ${new Date(change.time * 1000).toISOString().slice(0, 19)}Z` : "");

function show(operation) {
  if (operation.said.a === "make") return shown(operation.id);
  const value = make("span", JSON.stringify(scalar(operation)), "one");
  value.style.textDecorationColor = colour(operation.actor);
  value.title = who(operation);
  if (!operation.said.t) return value;
  const both = make("span");
  both.append(value, " ", make("span", operation.said.t, "kind"));
  return both;
}

// A key or element with all its values: the winner and concurrent ones.
function place(name, all) {
  const item = make("li");
  item.append(make("span", name, "key"), " ");
  if (all.length > 1) item.append(make("span", `${all.length} values at the same time`, "conflict"), " ");
  item.append(show(all.at(-1)));
  for (const other of all.slice(0, -1).reverse()) {
    const lost = make("div", undefined, "lost");
    lost.append(show(other));
    item.append(lost);
  }
  return item;
}

function shown(id) {
  const object = objects.get(id);
  if (object.kind === "text") return text(object);
  const list = make("ul", undefined, object.kind);
  if (object.kind === "list") {
    let index = 0;
    for (const element of object.order) {
      const all = values(element.values);
      if (all.length > 0) list.append(place(String(index++), all));
    }
  } else {
    for (const key of [...object.keys.keys()].sort()) {
      const all = values(object.keys.get(key));
      if (all.length > 0) list.append(place(key, all));
    }
  }
  if (list.childElementCount === 0) list.append(make("li", `an empty ${object.kind}`, "kind"));
  return list;
}

// A text with authors and marks.
function text(object) {
  const box = make("div", undefined, "text");
  const open = new Map();
  let run = null;
  for (const element of object.order) {
    const { a } = element.said;
    if (a === "mark" && is(element)) open.set(element.id, element);
    if (a === "end" && is(element)) open.delete(`${element.counter - 1}@${element.actor}`);
    const winner = values(element.values).at(-1);
    if (!winner) continue;
    if (winner.said.a === "make" || typeof winner.value !== "string") {
      const block = make("span", winner.said.a === "make" ? `¶ ${JSON.stringify(inside(winner.id))}` : "\ufffc", "block");
      block.title = who(winner);
      box.append(block);
      run = null;
      continue;
    }
    const names = new Map();
    for (const mark of [...open.values()].sort(later)) names.set(mark.said.n, mark.value);
    const marks = [...names].filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    const said = [who(winner), ...marks.sort()].join("\n");
    if (run && run.title === said) {
      run.textContent += winner.value;
      continue;
    }
    run = make("span", winner.value, marks.length > 0 ? "marked" : "");
    // Common mark names are rendered.
    const on = ["bold", "strong", "italic", "em"].filter((name) => names.get(name) === true);
    if (on.length > 0) run.classList.add(...on);
    run.title = said;
    run.style.background = colour(winner.actor);
    box.append(run);
  }
  return box;
}

// One line per actor; a change is connected with its dependencies.
const SVG = "http://www.w3.org/2000/svg";
const dots = [];

function picture() {
  const step = Math.max(3, Math.min(24, 20000 / Math.max(1, changes.length)));
  const size = Math.min(8, step * 0.45);
  const place = (number) => [12 + number * step, 14 + changes[number].actor * 24];
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", String(24 + changes.length * step));
  svg.setAttribute("height", String(8 + facts.actors.length * 24));
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${changes.length} changes by ${facts.actors.length} actors`);
  const add = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, String(value)));
    svg.append(element);
    return element;
  };
  changes.forEach((change, number) => {
    const [x, y] = place(number);
    for (const dep of change.deps) {
      const [x2, y2] = place(dep);
      add("line", { x1: x, y1: y, x2, y2 });
    }
  });
  changes.forEach((change, number) => {
    const [cx, cy] = place(number);
    const dot = add("circle", { cx, cy, r: size, fill: colour(change.actor) });
    const title = document.createElementNS(SVG, "title");
    title.textContent = words(change);
    dot.append(title);
    dot.addEventListener("click", () => choose(number));
    dots.push(dot);
  });
  at("graph").append(svg);
}

const words = (change) =>
  `${change.hash.slice(0, 10)} by ${facts.actors[change.actor].slice(0, 8)}/${change.seq}${when(change)}${change.message ? `: ${change.message}` : ""}`;

function draw() {
  dots.forEach((dot, number) => {
    dot.classList.toggle("later", part[number] === 0);
    dot.classList.toggle("shown", number === chosen);
  });
  at("change").textContent = chosen === null ? "" : words(changes[chosen]);
  at("value").replaceChildren(shown("_"));
  at("json").textContent = JSON.stringify(inside("_"), null, 2);
}

// Scrolls a wide graph to the change.
function reveal() {
  if (chosen === null) return;
  const graph = at("graph");
  const dot = dots[chosen];
  const [x, y] = [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))];
  graph.scrollTo(x - graph.clientWidth / 2, y - graph.clientHeight / 2);
}

// The first changes of the file, each after its dependencies.
function upTo(count) {
  part.fill(0).fill(1, 0, count);
  chosen = count > 0 ? count - 1 : null;
  reveal();
  at("time").value = String(count);
  at("moment").value = `${count} of ${changes.length}`;
  draw();
}

// The version that the author of a change saw after making it.
function choose(number) {
  part.fill(0);
  const todo = [number];
  while (todo.length > 0) {
    const change = todo.pop();
    if (part[change] === 0) {
      part[change] = 1;
      todo.push(...changes[change].deps);
    }
  }
  chosen = number;
  reveal();
  at("time").value = String(number + 1);
  at("moment").value = `as its maker saw it: ${part.reduce((sum, one) => sum + one, 0)} of ${changes.length}`;
  draw();
}

facts.actors.forEach((actor, number) => {
  const author = make("span", actor.slice(0, 8));
  author.style.background = colour(number);
  author.title = actor;
  at("authors").append(author);
});
picture();
at("time").max = String(changes.length);
at("time").addEventListener("input", (event) => upTo(Number(event.target.value)));

// A link may name a version: #12 the first twelve changes, #3f2a the change with this hash prefix.
function go() {
  const named = location.hash.slice(1);
  const number = named.length >= 4 ? changes.findIndex((change) => change.hash.startsWith(named)) : -1;
  if (number >= 0) choose(number);
  else upTo(/^\d{1,9}$/.test(named) ? Math.min(Number(named), changes.length) : changes.length);
}
addEventListener("hashchange", go);
go();
