# assay::formula, for users' formulas, in an installation (assayConfig.cmake): the two archives assay_reference and
# assay_core, and the libraries that they need.
if(TARGET assay::formula)
  return()  # a project may look for it twice
endif()
get_filename_component(_assay_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(assay::formula STATIC IMPORTED)
set_target_properties(assay::formula PROPERTIES IMPORTED_LOCATION "${_assay_prefix}/lib/libassay_reference.a"
                                                INTERFACE_INCLUDE_DIRECTORIES "${_assay_prefix}/include/assay")
target_compile_features(assay::formula INTERFACE cxx_std_20)
target_compile_options(assay::formula INTERFACE -ffp-contract=off -fno-fast-math)
target_link_libraries(assay::formula INTERFACE "${_assay_prefix}/lib/libassay_core.a" mpfi mpfr gmp fmt::fmt TBB::tbb
                                               tl::expected xtensor)
unset(_assay_prefix)
