# tile_add_kernels(target file.tile
#                  [SPECIALIZE signature...]   what tilec --signature takes, once for each
#                  [ARCH 80 90 ...]            or sm_80 sm_90; default: 80
#                  [DEFINE NAME=VALUE ...]     constexprs, as tilec -D
#                  [OPTIONS option...]         other options of tilec
#                  [RUNTIME library])          default: tile::runtime, which has no compiler
#
# Compiles kernels ahead of time when `target` is built, and again when file.tile or what it imports
# changes. The target's sources include "file.tile.h", which declares a launch function for each
# kernel.
function(tile_add_kernels target source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "RUNTIME" "SPECIALIZE;ARCH;DEFINE;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tile_add_kernels: what is meant by '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT TARGET tile::tilec)
    message(FATAL_ERROR "tile_add_kernels: this package of tile was built without the compiler (TILE_JIT=OFF)")
  endif()
  get_filename_component(path ${source} ABSOLUTE)
  get_filename_component(name ${source} NAME_WLE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}-kernels)
  file(MAKE_DIRECTORY ${folder})
  set(header ${folder}/${name}.tile.h)

  set(options ${arg_OPTIONS})
  foreach(signature IN LISTS arg_SPECIALIZE)
    list(APPEND options "--signature=${signature}")
  endforeach()
  foreach(definition IN LISTS arg_DEFINE)
    list(APPEND options -D "${definition}")
  endforeach()
  foreach(arch IN LISTS arg_ARCH)
    string(REGEX REPLACE "^sm_" "" arch ${arch})
    list(APPEND options --arch=sm_${arch})
  endforeach()
  add_custom_command(OUTPUT ${header}
    COMMAND tile::tilec --emit=header ${options} -MD -MF ${header}.d -o ${header} ${path}
    DEPENDS ${path} tile::tilec DEPFILE ${header}.d
    COMMENT "Compiling kernels of ${source}" VERBATIM)

  # One file has what the header declares.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(extension cpp)
  if(C IN_LIST languages)
    set(extension c)
  endif()
  file(CONFIGURE OUTPUT ${folder}/${name}.${extension}
    CONTENT "#define TILE_KERNELS_IMPLEMENTATION\n#include \"${name}.tile.h\"\n" @ONLY)
  set_source_files_properties(${folder}/${name}.${extension} PROPERTIES OBJECT_DEPENDS ${header})
  target_sources(${target} PRIVATE ${folder}/${name}.${extension} ${header})
  target_include_directories(${target} PRIVATE ${folder})
  if(NOT arg_RUNTIME)
    set(arg_RUNTIME tile::runtime)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_RUNTIME})
endfunction()
