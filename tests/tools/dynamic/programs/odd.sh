#!/bin/sh
# Says what the file `said` beside it holds, whatever it is asked.
cat "$(dirname "$0")/said"
