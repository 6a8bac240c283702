// What this tab remembers until it is closed: its session, and how the page was left.

const PREFIX = "dempster.";

export function remember(name, value) {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // a browser that keeps nothing: the page works, and starts anew when it is loaded again
  }
}

export function recall(name) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function forget(name) {
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // nothing was kept
  }
}
