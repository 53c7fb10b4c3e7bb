#!/bin/sh
# Installs Assay from its .deb and gates your candidate. Plain POSIX shell, for any CI on Debian 12 as root.
#   ASSAY_DEB      path of the .deb; empty: assay is already installed
#   ASSAY          the program (default: assay on PATH)
#   CANDIDATE      what to gate, e.g. python:model:scan, library:./scan.so, process:COMMAND
#   REPORT         folder of the report (default: assay-report): keep junit.xml, summary.md and index.html
# Further arguments go to `assay gate`, e.g. --operation heinsen/scan.
# Exit codes: 0 passed; 1 a check failed; 2 the command line or an input file is wrong; 3 the candidate broke;
# 4 a fault of Assay's own. All but 0 should stop the pipeline; upload the report whatever the code.
set -eu
if [ -n "${ASSAY_DEB:-}" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$(realpath "$ASSAY_DEB")" python3-numpy
fi
exec "${ASSAY:-assay}" gate --candidate "${CANDIDATE:?name a candidate, e.g. python:model:scan}" \
  --report "${REPORT:-assay-report}" "$@"
