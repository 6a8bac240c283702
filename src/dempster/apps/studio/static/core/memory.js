// Values that this tab stores until it is closed: its session and the settings of the page.

const PREFIX = "dempster.";

export function remember(name, value) {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Without storage the page works, but starts anew after a reload.
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
    // Nothing was stored.
  }
}
