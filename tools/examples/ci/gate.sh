#!/bin/sh
# Installs Assay from its .deb and gates your candidate. Plain POSIX shell, for any CI on Debian 12 as root.
#   ASSAY_DEB      path of the .deb; empty: assay is already installed
#   ASSAY          the program (default: assay on PATH)
#   CANDIDATE      what to gate, e.g. python:model:scan, library:./scan.so, process:COMMAND
#   REPORT         folder of the report (default: assay-report): keep junit.xml, summary.md and index.html
# Further arguments go to `assay gate`, e.g. --operation heinsen/scan.
# Exit codes: 0 passed; 1 a check failed; 2 the command line or an input file is wrong; 3 the candidate broke, or its
# declarations are wrong; 4 a fault of Assay's own. All but 0 should stop the pipeline; upload the report whatever the code.
set -eu
: "${CANDIDATE:?name a candidate, e.g. python:model:scan}"
if [ -n "${ASSAY_DEB:-}" ]; then
  package=$(realpath "$ASSAY_DEB")  # apt takes a name without a slash for that of a package
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$package" python3-numpy
fi
exec "${ASSAY:-assay}" gate --candidate "$CANDIDATE" --report "${REPORT:-assay-report}" "$@"
