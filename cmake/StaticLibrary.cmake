# tile_static_library(target name objects...): lib<name>.a of the given object libraries, in which
# only tile_* can be linked to. An archive of the objects as they are would offer every name that two
# of their files share, to clash with the application's own.
function(tile_static_library target name)
  set(whole ${CMAKE_BINARY_DIR}/${name}.o)
  set(objects)
  foreach(part ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${part}>)
  endforeach()
  add_custom_command(OUTPUT ${whole}
    COMMAND ${CMAKE_LINKER} -r -o ${whole} ${objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
    DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${target} STATIC ${whole})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name})
  set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()
