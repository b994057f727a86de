// Make a VM, wait until it runs, find it in the list, and delete it again.
//
// It needs Node 18 and nothing else. CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN and
// CLOUDAPI_PROJECT say where. It ends with a status other than 0 if anything is
// not as expected.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const { CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN, CLOUDAPI_PROJECT } = process.env;
const vmPath = "/location/eu-central-h1/vm/from-javascript";
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx";

// APIError is a reply of the service that is no success.
class APIError extends Error {
  constructor(status, error = {}) {
    super(`${status} ${error.type}: ${error.message}`);
    this.status = status;
    this.type = error.type;
  }
}

// call sends a request and returns what the service answers, or null.
async function call(method, path, body) {
  const reply = await fetch(`${CLOUDAPI_BASE_URL}/project/${CLOUDAPI_PROJECT}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${CLOUDAPI_TOKEN}`,
      Accept: "application/json",
      ...(body && { "Content-Type": "application/json" }),
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await reply.text();
  const content = text ? JSON.parse(text) : null;
  if (!reply.ok) throw new APIError(reply.status, content?.error);
  return content;
}

// listAll yields the items of all pages, each of which begins after the last
// item. An empty page is the end of the list; a short one need not be.
async function* listAll(path, pageSize) {
  const query = new URLSearchParams({ page_size: pageSize });
  for (;;) {
    const { items } = await call("GET", `${path}?${query}`);
    if (items.length === 0) return;
    yield* items;
    query.set("start_after", items.at(-1).id);
  }
}

// wait asks every half second until done says so.
async function wait(done, seconds = 60) {
  const end = performance.now() + seconds * 1000;
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`not done after ${seconds} s`);
    await sleep(500);
  }
}

async function gone() {
  try {
    await call("GET", vmPath);
  } catch (error) {
    if (error.status === 404) return true;
    throw error;
  }
  return false;
}

const vm = await call("POST", vmPath, { public_key: publicKey, size: "standard-2" });
console.log("created", vm.id);
await assert.rejects(call("POST", vmPath, { public_key: publicKey }), (error) => {
  console.log("a second one of that name is refused:", error.message);
  return error.status === 400;
});

await wait(async () => (await call("GET", vmPath)).state === "running");
console.log("running");
const ids = [];
for await (const item of listAll("/vm", 2)) ids.push(item.id);
assert.ok(ids.includes(vm.id), "the list lacks the VM");

await call("DELETE", vmPath);
await wait(gone);
console.log("deleted");
