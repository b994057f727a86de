#!/bin/sh
echo hello from the job
uname -a
