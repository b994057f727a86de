#!/bin/sh
echo hello from the job
sleep 1
echo a warning >&2
