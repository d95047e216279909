# SPDX-License-Identifier: MIT OR GPL-2.0-only
# As an overlay port: vcpkg install drystone --overlay-ports=packaging/vcpkg. Builds the tree that this file lies in.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
	OPTIONS -DDRYSTONE_TESTS=OFF -DDRYSTONE_TOOLS=OFF -DDRYSTONE_EXPERIMENTS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/drystone)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSES/MIT.txt" "${SOURCE_PATH}/LICENSES/GPL-2.0-only.txt")
