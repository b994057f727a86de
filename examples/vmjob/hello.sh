#!/bin/sh
echo hello from the job
sleep 1
echo a warning >&2
sleep 1
echo 42 > out/answer.txt
