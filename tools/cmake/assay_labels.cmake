# The labels of a test (ctest -L alibi, -L pair_bias, -LE thorough): the encodings that stand in its name between
# slashes, also as torch_NAME, and the kinds of these encodings. Precondition: ASSAY_ENCODINGS and ASSAY_KINDS are set.

# Long tests that are alike for all encodings: the diagnosis of every mutant, as a known fault and as an unknown one,
# and of right code; every control in other formats than f32, builtins in f64 and f16; faults made by rule; PyTorch. CI
# runs them for the first encoding of each kind. For the others they have the label `thorough`, and tools/test --all
# runs them. The encodings in assay_longest have many faults: for these CI runs only the diagnosis of known mutants, and
# for nope and comrope not even this.
set(assay_long_and_alike "^properties/diagnosis/(mutants_are|generated_are|nothing_)|^properties/controls/none_fails_(f64|f16|bf16)|^properties/builtins/pass_in_their_class_(f64|f16)|^properties/mutants/generated_are_caught|^examples/gate/torch_")
set(assay_longest "^properties/diagnosis/((generated_are|nothing_).*/(heinsen|nope|comrope|kerple)|mutants_are_named/(nope|comrope))$")
# Long tests of things that CI does not use: models that learn, the plan of a full run. Also tests that take a minute of
# one processor while CI has others like them: generated faults of similar operations, skeletons of other kinds of
# encodings.
set(assay_long "^tools/(experiments|new_encoding_kinds)$|^properties/sizes/a_full_run_reaches_further$|^properties/mutants/generated_are_caught/(linear_attention|log_space)$")

function(assay_labels result name)
  set(labels "")
  if(name MATCHES "${assay_long}" OR name MATCHES "${assay_longest}")
    list(APPEND labels thorough)
  endif()
  foreach(encoding IN LISTS ASSAY_ENCODINGS)
    if(NOT "/${name}/" MATCHES "/(torch_)?${encoding}[/:]")
      continue()
    endif()
    list(APPEND labels ${encoding})
    foreach(kind IN LISTS ASSAY_KINDS)
      list(FIND ASSAY_KIND_${kind} ${encoding} place)
      if(place GREATER_EQUAL 0)
        list(APPEND labels ${kind})
      endif()
      if(place GREATER 0 AND name MATCHES "${assay_long_and_alike}")
        list(APPEND labels thorough)
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES labels)
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

# The test cases of Catch2 are known only after their program is built, so ctest labels them when it reads them.
function(assay_label_tests_of target)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  set(lines "")
  foreach(list IN ITEMS ASSAY_ENCODINGS ASSAY_KINDS)
    string(APPEND lines "set(${list} ${${list}})\n")
  endforeach()
  foreach(kind IN LISTS ASSAY_KINDS)
    string(APPEND lines "set(ASSAY_KIND_${kind} ${ASSAY_KIND_${kind}})\n")
  endforeach()
  file(WRITE "${file}" "${lines}include(\"${CMAKE_CURRENT_FUNCTION_LIST_FILE}\")\nforeach(test IN LISTS ${target}_TESTS)\n"
                       "  assay_labels(labels \"\${test}\")\n"
                       "  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"\${labels}\")\nendforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()
