# libtile and tilec: everything that needs LLVM, Flex and Bison.
include(cmake/TileLLVM.cmake)
find_package(FLEX REQUIRED)
find_package(BISON 3.8 REQUIRED)

# The scanner, the parser, and the standard library as C strings.
set(gen ${CMAKE_BINARY_DIR}/frontend)
file(MAKE_DIRECTORY ${gen})
bison_target(parser frontend/parser.y ${gen}/parser.c DEFINES_FILE ${gen}/parser.h
  COMPILE_FLAGS "-Wall -Werror")
flex_target(lexer frontend/lexer.l ${gen}/lexer.c DEFINES_FILE ${gen}/lexer.h)
add_flex_bison_dependency(lexer parser)
set(library)
function(embed_library name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/frontend/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${gen}/${name}.inc
    COMMAND ${CMAKE_COMMAND} "-DIN=${files}" -DOUT=${gen}/${name}.inc
            -P ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${files} cmake/EmbedText.cmake VERBATIM)
  set(library ${library} ${gen}/${name}.inc PARENT_SCOPE)
endfunction()
embed_library(stdlib stdlib.tile)
embed_library(libdevice libdevice.tile libdevice_math.tile)
set_source_files_properties(frontend/program.c PROPERTIES OBJECT_DEPENDS "${library}")

tile_folder(support)
tile_folder(ir)
tile_folder(frontend ${BISON_parser_OUTPUTS} ${FLEX_lexer_OUTPUTS})
set_source_files_properties(${BISON_parser_OUTPUTS} ${FLEX_lexer_OUTPUTS} PROPERTIES
  COMPILE_OPTIONS "-Wno-unused-function;-Wno-sign-compare;-Wno-missing-prototypes;-Wno-unused-but-set-variable")
tile_folder(codegen)
target_include_directories(tile_codegen SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
add_library(tile_jit OBJECT ${with_compiler})
target_link_libraries(tile_jit PRIVATE tile_options)

# Which build of the compiler this is, for the keys of the on-disk cache.
set(compiler support ir frontend codegen runtime)
list(TRANSFORM compiler REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.[chyl]" OUTPUT_VARIABLE code)
list(TRANSFORM compiler REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/\\1/*.def" OUTPUT_VARIABLE tables)
file(GLOB hashed CONFIGURE_DEPENDS ${code} ${tables} frontend/*.tile)
set(build_hash ${CMAKE_BINARY_DIR}/runtime/build_hash.h)
add_custom_command(OUTPUT ${build_hash}
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} "-DIN=${hashed}" -DOUT=${build_hash}
          -P ${CMAKE_SOURCE_DIR}/cmake/SourceHash.cmake
  DEPENDS ${hashed} cmake/SourceHash.cmake VERBATIM)
set_source_files_properties(${CMAKE_SOURCE_DIR}/runtime/cache.c PROPERTIES OBJECT_DEPENDS ${build_hash})

add_library(tile_tilec OBJECT tilec/cache.c tilec/driver.c tilec/describe.c tilec/header.c tilec/options.c tilec/run.c tilec/signature.c)
target_link_libraries(tile_tilec PRIVATE tile_options)

set(tile_objects)
set(tile_parts support ir frontend codegen launcher jit tilec)
foreach(part ${tile_parts})
  list(APPEND tile_objects $<TARGET_OBJECTS:tile_${part}>)
endforeach()

# libtile: what programs link. Only tile_* is exported.
add_library(tile SHARED ${tile_objects})
set_target_properties(tile PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}) # before 1.0 a minor version may break
target_include_directories(tile PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tile PRIVATE tile_options tile_llvm Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(tile PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/libtile.map)
set_target_properties(tile PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/libtile.map)

add_executable(tilec tilec/main.c)
target_link_libraries(tilec PRIVATE tile_options tile)
add_executable(tile::tilec ALIAS tilec)
include(cmake/TileKernels.cmake)

# libtile.a leaves LLVM to whoever links it; with a static LLVM it would be a copy of libtile.so.
if(NOT TILE_STATIC_LLVM)
  list(TRANSFORM tile_parts PREPEND tile_ OUTPUT_VARIABLE parts)
  tile_static_library(tile_static tile ${parts})
  target_link_libraries(tile_static INTERFACE LLVM)
endif()

# The compiler in one file, LLVM included: what people download.
if(TILE_STATIC_LLVM)
  add_executable(tilec-single EXCLUDE_FROM_ALL tilec/main.c ${tile_objects})
  target_link_libraries(tilec-single PRIVATE tile_options tile_llvm Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
