# Packages of the program with its Python host: a .deb and a .tar.gz (tools/package makes both).
# Reproducible where SOURCE_DATE_EPOCH is set: CPack takes its time stamps from there.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VENDOR "The Assay authors")
set(CPACK_PACKAGE_CONTACT "The Assay authors <assay@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "numerical verification of position encodings")
set(CPACK_PACKAGE_DESCRIPTION "Compares implementations of the log-linear recurrence with a proved truth and
tells whether they compute the right function, how many digits they keep and up
to which length. Candidates are Python functions, shared libraries or programs.")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-numpy")
include(CPack)
