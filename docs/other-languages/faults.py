"""Test what a program does when the service fails: the response to a create is
lost, the service is down for a minute, and a VM takes an hour.

It needs Python 3.8, and a cloudapi-testserver with -control, which prints the
four variables. It takes no time, and ends with a status other than 0 if anything
is not as expected.
"""

import http.client
import json
import os
import urllib.error
import urllib.request

API = os.environ["CLOUDAPI_BASE_URL"] + "/project/" + os.environ["CLOUDAPI_PROJECT"]
CONTROL = os.environ["CLOUDAPI_CONTROL_URL"]
VM = API + "/location/eu-central-h1/vm/from-faults"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlaceholderKeyForExamplesOnlyxxxxxxxxxxxxxxxx"


def call(method, url, body=None):
    """Send a request and return the status and the content of the response."""
    request = urllib.request.Request(url, method=method)
    request.add_header("Authorization", "Bearer " + os.environ["CLOUDAPI_TOKEN"])
    request.add_header("Accept", "application/json")
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=30) as reply:
            status, content = reply.status, reply.read()
    except urllib.error.HTTPError as refusal:
        status, content = refusal.code, refusal.read()
    return status, json.loads(content) if content else None


def change(**what):
    """Change the server; what is one member, such as quota={"vm": 200}."""
    status, refusal = call("POST", CONTROL, what)
    assert status == 204, refusal


def create():
    """Create the VM, and look whether it is there if nobody answers."""
    try:
        return call("POST", VM, {"public_key": KEY})
    except (http.client.HTTPException, OSError):
        return call("GET", VM)


def main():
    status, _ = call("POST", CONTROL + "/reset")
    assert status == 204
    change(delays={"all": "0s", "create": "1h"})
    change(clock={"speed": 0})  # so that time passes only when this says so

    change(fail={"operation": "VMs.Create", "with": [{"drop": "after"}]})
    status, vm = create()
    assert (status, vm["state"]) == (200, "creating"), (status, vm)
    print("the response to a create was lost:", vm["name"], "is", vm["state"])

    change(fail={"operation": "VMs.Get", "with": [{"status": 503, "for": "1m"}]})
    assert call("GET", VM)[0] == 503
    change(clock={"advance": "59s"})
    assert call("GET", VM)[0] == 503
    change(clock={"advance": "1s"})
    assert call("GET", VM)[0] == 200
    print("the service was down for a minute")

    change(clock={"advance": "1h"})
    assert call("GET", VM)[1]["state"] == "running"
    print("an hour later it is running")

    status, requests = call("GET", CONTROL + "/requests")
    print("the requests were:", *(f"{r['name']} {r['status']}," for r in requests), "and no more")
    assert [r["name"] for r in requests].count("VMs.Create") == 1, requests


main()
