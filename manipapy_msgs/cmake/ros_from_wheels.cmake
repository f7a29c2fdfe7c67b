# Lets find_package() see the ROS packages that pip installed as wheels.
#
# The wheels form an ordinary ROS prefix inside the environment: lib/pythonX.Y/site-packages/ament_package/__init__.py
# stands four folders below it.
find_package(Python3 REQUIRED COMPONENTS Interpreter Development NumPy)
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c
    "import ament_package, pathlib; print(pathlib.Path(ament_package.__file__).resolve().parents[4])"
  OUTPUT_VARIABLE ros_prefix
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY
)
message(STATUS "ROS from wheels in ${ros_prefix}")
list(PREPEND CMAKE_PREFIX_PATH "${ros_prefix}")
set(ENV{AMENT_PREFIX_PATH} "${ros_prefix}")

# The targets <package>__rosidl_generator_py of the wheels export include folders of the machine they were built on.
# CMake refuses folders that do not exist, so those are taken off once every package has been found.
function(drop_missing_include_folders)
  get_property(imported DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT folders)
      continue()
    endif()
    set(present)
    foreach(folder IN LISTS folders)
      # Generator expressions and relative folders are not ours to judge.
      if(NOT IS_ABSOLUTE "${folder}" OR EXISTS "${folder}")
        list(APPEND present "${folder}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL drop_missing_include_folders)

# Leaves out the C++ half of the interfaces that follow, which takes most of the time: Python uses the C half. Called
# after the last find_package().
macro(without_cpp)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
endmacro()

# build_along(<package>): compiles a package beside this one now, makes it visible to find_package() and installs it
# together with this one.
function(build_along package)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/../${package}")
  set(build "${CMAKE_CURRENT_BINARY_DIR}/${package}")
  set(prefix "${CMAKE_CURRENT_BINARY_DIR}/along")
  foreach(step
      "-S;${source};-B;${build};-G;${CMAKE_GENERATOR};-DCMAKE_BUILD_TYPE=Release;-DBUILD_TESTING=OFF;-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM};-DPython3_EXECUTABLE=${Python3_EXECUTABLE};-DCMAKE_INSTALL_PREFIX=${prefix};--no-warn-unused-cli"
      "--build;${build};--target;install")
    execute_process(COMMAND "${CMAKE_COMMAND}" ${step} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  list(PREPEND CMAKE_PREFIX_PATH "${prefix}")
  set(CMAKE_PREFIX_PATH "${CMAKE_PREFIX_PATH}" PARENT_SCOPE)
  install(DIRECTORY "${build}/../along/" DESTINATION . USE_SOURCE_PERMISSIONS)
endfunction()
