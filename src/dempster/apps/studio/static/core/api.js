// Send requests to the server. Every request contains the token of this page.

import { unpack } from "../map/scatter.js";
import { set } from "./store.js";

const token = document.querySelector('meta[name="dempster-token"]').content;
let base = "";
let page = ""; // The server accepts changes only from the page that opened the session last.

export class RequestError extends Error {}

export function useSession(id, pageId) {
  base = `/api/sessions/${id}`;
  page = pageId;
}

async function answer(response) {
  if (response.ok) return response;
  let words = "The studio sent an unexpected response.";
  try {
    words = (await response.json()).error || words;
  } catch {
    if (response.status === 403) words = "The token of this page is not valid. Open the address that the terminal shows.";
  }
  const refused = new RequestError(words);
  refused.status = response.status;
  if (response.status === 409) set({ elsewhere: true });
  throw refused;
}

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      credentials: "same-origin",
      headers: { "x-dempster-token": token, "x-dempster-page": page, ...(options.headers || {}) },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError("The studio cannot be reached. It may have been stopped in the terminal.");
  }
  return answer(response);
}

function inSession(path) {
  return path.startsWith("/api/") ? path : base + path;
}

export async function getJson(path, signal) {
  return (await send(inSession(path), { signal })).json();
}

export async function post(path, body = {}, signal) {
  const options = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal };
  return (await send(inSession(path), options)).json();
}

export async function remove(path) {
  return (await send(inSession(path), { method: "DELETE" })).json();
}

export async function putBytes(path, bytes) {
  const options = { method: "PUT", body: bytes, headers: { "content-type": "application/octet-stream" } };
  return (await send(inSession(path), options)).json();
}

export async function getBlob(path) {
  return (await send(inSession(path))).blob();
}

// Fetch packed arrays with their metadata.
export async function getPacked(path, signal) {
  return unpack(await (await send(inSession(path), { signal })).arrayBuffer());
}

// Save the response of the server as a file.
export async function download(path, fallback, body) {
  const options = body ? { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {};
  const response = await send(inSession(path), options);
  const named = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("content-disposition") || "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = named ? decodeURIComponent(named[1]) : fallback;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
