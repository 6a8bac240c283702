// The state of the page. Views subscribe to the values they show and do not call each other.

const state = {
  session: null,      // session on the server, with the file, columns, runs, rules and answers
  methods: [],        // methods and their parameters
  runId: null,        // identifier of the current run
  viewId: null,       // identifier of the shown partition: of the current run, or of a layer of it, such as 3@12
  objects: null,      // masses, sets and doubt of the objects of the current run
  plane: null,        // positions of the objects on the map
  planeChoice: null,  // {kind, x, y}
  codes: null,        // code of the set of each object, which depends on the sliders
  counts: null,       // number of objects of each set
  weights: { outliers: 0, ambiguity: 0 },
  selection: null,    // Uint8Array with 1 for each selected object, or null
  selectedCount: 0,
  hover: -1,          // object under the pointer
  focus: -1,          // object in the Why panel
  marked: [],         // objects that have a letter on the map (exemplars, or the pair of a question)
  peaks: null,        // belief and delta of each object
  jobs: {},           // jobs by kind
  choices: null,      // a new object whenever a setting of the next run changes
  examples: [],
  tableSuffixes: [],  // of files that can be opened
  tableFormats: "",   // their names
  saved: [],          // sessions that can be opened
  elsewhere: false,   // whether another tab or another studio has opened the session
  theme: "light",
  tool: "pan",
};

const listeners = new Map();
let changed = new Set();

export function get(name) {
  return state[name];
}

// Change values of the state. Each listener is called once, after the current code has ended.
export function set(patch) {
  for (const [name, value] of Object.entries(patch)) {
    if (!(name in state)) throw new Error(`no state called ${name}`);
    if (state[name] === value) continue;
    state[name] = value;
    if (changed.size === 0) queueMicrotask(notifyListeners);
    changed.add(name);
  }
}

function notifyListeners() {
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
