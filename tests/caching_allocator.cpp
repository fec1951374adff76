// The caching allocator: rounding, pools, segments, splitting and merging, by hand; and random traffic.
#include "core/caching_allocator.hpp"

#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count mib = Count{1} << 20;

}  // namespace

TEST_CASE("blocks are rounded to 512 bytes and come out of segments", "[memory]") {
  CachingAllocator a;
  a.allocate(0, Bytes(1));
  CHECK(a.allocated() == Bytes(512));
  CHECK(a.reserved() == Bytes(2 * mib));  // up to 1 MiB: 2 MiB segments
  a.allocate(1, Bytes(mib));
  CHECK(a.reserved() == Bytes(2 * mib));
  a.allocate(2, Bytes(mib));
  CHECK(a.reserved() == Bytes(4 * mib));
  a.allocate(3, Bytes(mib + 1));  // large pool: a 20 MiB segment
  CHECK(a.reserved() == Bytes(24 * mib));
  a.allocate(4, Bytes(9 * mib));  // fits beside it
  CHECK(a.reserved() == Bytes(24 * mib));
  a.allocate(5, Bytes(10 * mib + 1));  // more than the 10 MiB left: a segment of its own, rounded to 2 MiB
  CHECK(a.reserved() == Bytes(36 * mib));
}

TEST_CASE("what is freed is used again, not given back", "[memory]") {
  CachingAllocator a;
  a.allocate(0, Bytes(100 * mib));
  a.free(0);
  CHECK(a.allocated() == Bytes(0));
  CHECK(a.reserved() == Bytes(100 * mib));
  a.allocate(1, Bytes(60 * mib));  // a piece of it
  a.allocate(2, Bytes(40 * mib));  // the rest
  CHECK(a.reserved() == Bytes(100 * mib));
  a.free(1);
  a.free(2);  // neighbours merge
  a.allocate(3, Bytes(100 * mib));
  CHECK(a.reserved() == Bytes(100 * mib));
}

TEST_CASE("a large piece is not split when less than 1 MiB would be left", "[memory]") {
  CachingAllocator a;
  a.allocate(0, Bytes(20 * mib));
  a.free(0);
  a.allocate(1, Bytes(19 * mib));
  CHECK(a.allocated() == Bytes(20 * mib));
}

TEST_CASE("pieces that lie apart do not add up, unless segments expand", "[memory]") {
  for (const bool expandable : {false, true}) {
    CachingAllocator a(AllocatorSettings{expandable});
    a.allocate(0, Bytes(40 * mib));
    a.allocate(1, Bytes(40 * mib));
    a.free(0);
    a.free(1);
    a.allocate(2, Bytes(80 * mib));
    CHECK(a.reserved() == Bytes((expandable ? 80 : 160) * mib));
  }
}

// By hand after c10/cuda/CUDACachingAllocator.cpp: pages of 2 MiB in the pool of small blocks, of 20 MiB in the other.
TEST_CASE("an expandable segment grows page by page", "[memory]") {
  CachingAllocator a(AllocatorSettings{true});
  a.allocate(0, Bytes(mib));
  CHECK(a.reserved() == Bytes(2 * mib));
  a.allocate(1, Bytes(mib));
  a.allocate(2, Bytes(512));
  CHECK(a.reserved() == Bytes(4 * mib));
  a.allocate(3, Bytes(30 * mib));  // two pages of 20 MiB
  CHECK(a.reserved() == Bytes(44 * mib));
  a.allocate(4, Bytes(25 * mib));  // 10 MiB are left, a page more holds the rest
  CHECK(a.reserved() == Bytes(64 * mib));
  a.allocate(5, Bytes(5 * mib));
  CHECK(a.reserved() == Bytes(64 * mib));
  CHECK(a.allocated() == Bytes(62 * mib + 512));
}

TEST_CASE("the end of an expandable segment is the last place that is taken", "[memory]") {
  CachingAllocator a(AllocatorSettings{true});
  a.allocate(0, Bytes(40 * mib));
  a.allocate(1, Bytes(15 * mib));  // three pages, of which 5 MiB are left at the end
  CHECK(a.reserved() == Bytes(60 * mib));
  a.free(0);
  a.allocate(2, Bytes(4 * mib));   // into the hole of 40 MiB, though the end is the better fit
  a.allocate(3, Bytes(45 * mib));  // the 5 MiB at the end and two pages
  CHECK(a.reserved() == Bytes(100 * mib));
}

TEST_CASE("expandable segments split off all that is left", "[memory]") {
  CachingAllocator a(AllocatorSettings{true});
  a.allocate(0, Bytes(20 * mib));
  a.allocate(1, Bytes(20 * mib));
  a.free(0);
  a.allocate(2, Bytes(19 * mib + 512 * 1024));
  CHECK(a.allocated() == Bytes(39 * mib + 512 * 1024));
}

TEST_CASE("random traffic: no more is allocated than reserved, and all comes back", "[memory]") {
  Random random(6);
  for (const bool expandable : {false, true}) {
    CachingAllocator a(AllocatorSettings{expandable});
    std::map<std::int32_t, Count> alive;
    Count sum = 0, most = 0;
    for (std::int32_t i = 0; i < 3000; ++i) {
      if (!alive.empty() && random.below(2) == 0) {
        const auto one = std::next(alive.begin(), random.below(static_cast<int>(alive.size())));
        sum -= one->second;
        a.free(one->first);
        alive.erase(one);
      } else {
        const Count bytes = Count{1} << random.below(26);
        alive[i] = bytes;
        sum += bytes;
        most = std::max(most, sum);
        a.allocate(i, Bytes(bytes));
      }
      REQUIRE(a.allocated() >= Bytes(sum));
      REQUIRE(a.allocated() <= a.reserved());
    }
    CHECK(a.reserved() >= Bytes(most));
    for (const auto& [block, bytes] : alive) a.free(block);
    CHECK(a.allocated() == Bytes(0));
  }
}
