"""The former name of assay.host."""
from assay.former_names import moved

moved(__name__, "assay.host")
