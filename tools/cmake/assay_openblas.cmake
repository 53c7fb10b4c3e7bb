# Adds assay_external::OpenBLAS if it is there: the static library of OpenBLAS that is built on OpenMP
# (optimized/matrix_product.cpp says why). This file is also installed: users of assay::optimized need it.
find_library(ASSAY_OPENBLAS_LIBRARY libopenblas.a PATH_SUFFIXES openblas-openmp NO_CACHE)
find_path(ASSAY_OPENBLAS_INCLUDE openblas_config.h PATH_SUFFIXES openblas-openmp NO_CACHE)
if(ASSAY_OPENBLAS_LIBRARY MATCHES "openblas-openmp" AND ASSAY_OPENBLAS_INCLUDE MATCHES "openblas-openmp")
  add_library(assay_external::OpenBLAS UNKNOWN IMPORTED GLOBAL)
  set_target_properties(assay_external::OpenBLAS PROPERTIES
    IMPORTED_LOCATION "${ASSAY_OPENBLAS_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${ASSAY_OPENBLAS_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "gomp;m")
endif()
