"""The former name of assay.claims."""
from assay.former_names import moved

moved(__name__, "assay.claims")
