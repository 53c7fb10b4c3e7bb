"""The former name of assay.adapters."""
from assay.former_names import moved

moved(__name__, "assay.adapters")
