"""Make a VM, wait until it runs, find it in the list, and delete it again.

It needs Python 3.8 and nothing else. CLOUDAPI_BASE_URL, CLOUDAPI_TOKEN and
CLOUDAPI_PROJECT say where. It ends with a status other than 0 if anything is
not as expected.
"""

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

BASE = os.environ["CLOUDAPI_BASE_URL"] + "/project/" + os.environ["CLOUDAPI_PROJECT"]
VM = "/location/eu-central-h1/vm/from-python"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx"


class APIError(Exception):
    """A reply of the service that is no success."""

    def __init__(self, status, body):
        error = body.get("error", {})
        super().__init__(f"{status} {error.get('type')}: {error.get('message')}")
        self.status, self.type = status, error.get("type")


def call(method, path, body=None):
    """Send a request and return what the service answers, or None."""
    request = urllib.request.Request(BASE + path, method=method)
    request.add_header("Authorization", "Bearer " + os.environ["CLOUDAPI_TOKEN"])
    request.add_header("Accept", "application/json")
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=30) as reply:
            content = reply.read()
    except urllib.error.HTTPError as refusal:
        raise APIError(refusal.code, json.load(refusal)) from None
    return json.loads(content) if content else None


def list_all(path, page_size):
    """Yield the items of all pages, each of which begins after the last item.

    An empty page is the end of the list; a short one need not be.
    """
    query = {"page_size": page_size}
    while True:
        items = call("GET", path + "?" + urllib.parse.urlencode(query))["items"]
        if not items:
            return
        yield from items
        query["start_after"] = items[-1]["id"]


def wait(done, seconds=60):
    """Ask every half second until done says so."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"not done after {seconds} s")
        time.sleep(0.5)


def gone():
    try:
        call("GET", VM)
    except APIError as error:
        if error.status == 404:
            return True
        raise
    return False


def main():
    vm = call("POST", VM, {"public_key": KEY, "size": "standard-2"})
    print("created", vm["id"])
    try:
        call("POST", VM, {"public_key": KEY})
    except APIError as error:
        print("a second one of that name is refused:", error)
        assert error.status == 400, error
    else:
        raise AssertionError("two VMs have one name")

    wait(lambda: call("GET", VM)["state"] == "running")
    print("running")
    assert vm["id"] in [item["id"] for item in list_all("/vm", page_size=2)], "the list lacks the VM"

    call("DELETE", VM)
    wait(gone)
    print("deleted")


main()
