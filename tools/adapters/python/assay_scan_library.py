"""The former name of assay.scans.library."""
from assay.former_names import moved

moved(__name__, "assay.scans.library")
