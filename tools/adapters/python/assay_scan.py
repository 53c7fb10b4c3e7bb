"""The former name of assay.scans."""
from assay.former_names import moved

moved(__name__, "assay.scans")
