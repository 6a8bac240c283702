// The state of the page, in one place. Views subscribe to the names they show and never talk to each other.

const state = {
  session: null,      // what the server knows: file, columns, runs, rules, lessons
  methods: [],        // methods and their parameters
  runId: null,        // the run that is shown
  objects: null,      // its objects: masses, sets, doubt
  plane: null,        // where they lie
  planeChoice: null,  // {kind, x, y}
  codes: null,        // the set of each object, as the sliders have it
  counts: null,       // how many objects each set has
  weights: { outliers: 0, ambiguity: 0 },
  selection: null,    // Uint8Array, one for each object, or null
  selectedCount: 0,
  hover: -1,          // object under the pointer
  focus: -1,          // object that is explained
  marked: [],         // objects with a letter: exemplars, the pair of a question
  peaks: null,        // belief and delta of each object
  jobs: {},           // long work by its kind
  choices: null,       // changes with every choice for the next run
  examples: [],
  planes: [],
  theme: "light",
  tool: "pan",
};

const listeners = new Map();
let changed = new Set();

export function get(name) {
  return state[name];
}

// Change some names; whoever listens to one of them is told once, after the current code has ended.
export function set(patch) {
  for (const [name, value] of Object.entries(patch)) {
    if (!(name in state)) throw new Error(`no state called ${name}`);
    if (state[name] === value) continue;
    state[name] = value;
    if (changed.size === 0) queueMicrotask(tell);
    changed.add(name);
  }
}

function tell() {
  const names = changed;
  changed = new Set();
  const called = new Set();
  for (const name of names) {
    for (const listener of listeners.get(name) || []) called.add(listener);
  }
  for (const listener of called) listener(names);
}

export function subscribe(names, listener) {
  for (const name of names) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
  }
}

export function currentRun() {
  const session = state.session;
  return session ? session.runs.find((run) => run.id === state.runId) || null : null;
}
