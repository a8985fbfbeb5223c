# What `cmake --install` lays down: the libraries, the headers, tilec, a CMake package and files for
# pkg-config. The static library with the compiler is a component of its own, since whoever links it
# must have LLVM.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tile)
install(FILES runtime/tile.h runtime/tile_dlpack.h examples/cpp/tile.hpp TYPE INCLUDE)

set_target_properties(tile_runtime PROPERTIES EXPORT_NAME runtime)
install(TARGETS tile_runtime EXPORT tileTargets)
set(pkgconfig tile-runtime)
if(TILE_JIT)
  install(TARGETS tile tilec EXPORT tileTargets)
  list(APPEND pkgconfig tile)
endif()
install(EXPORT tileTargets NAMESPACE tile:: DESTINATION ${package_dir})
if(TARGET tile_static)
  set_target_properties(tile_static PROPERTIES EXPORT_NAME static)
  install(TARGETS tile_static EXPORT tileStaticTargets)
  install(EXPORT tileStaticTargets NAMESPACE tile:: DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/tileConfig.cmake.in ${CMAKE_BINARY_DIR}/package/tileConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/tileConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/tileConfig.cmake ${CMAKE_BINARY_DIR}/package/tileConfigVersion.cmake
  cmake/TileKernels.cmake DESTINATION ${package_dir})

# The files name their own place, so that the folder may be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up ${up})
set(llvm_libs)
if(TARGET tile_static)
  set(llvm_libs "-L${LLVM_LIBRARY_DIR} -lLLVM-${LLVM_VERSION_MAJOR}")
endif()
foreach(name ${pkgconfig})
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
