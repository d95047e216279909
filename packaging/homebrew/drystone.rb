# SPDX-License-Identifier: MIT OR GPL-2.0-only
# url and sha256 are those that scripts/release prints.
class Drystone < Formula
  desc "Slab allocator: typed object caches and malloc"
  homepage "https://github.com/drystone/drystone"
  url "https://github.com/drystone/drystone/releases/download/v0.1.0/drystone-0.1.0.tar.gz"
  license any_of: ["MIT", "GPL-2.0-only"]

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "elfutils"
  depends_on :linux
  depends_on "ncurses"
  depends_on "zlib"

  def install
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DDRYSTONE_TESTS=OFF", "-DDRYSTONE_EXPERIMENTS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_equal "1", shell_output("#{bin}/drystone run -- sh -c 'echo 1'").strip
  end
end
