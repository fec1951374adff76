// Latency and rate of transfers: exact data, disturbed data, and data that is none.
#include "kernels/transfer_fit.hpp"

#include "catch.hpp"

using namespace llmcalc;

namespace {

// 5 us + payload / 25 GB/s, from 1 KiB to 1 GiB by fours.
std::vector<TransferPoint> eleven_sizes() {
  std::vector<TransferPoint> points;
  for (double bytes = 1024; bytes <= 1073741824; bytes *= 4) points.push_back({bytes, 5e-6 + bytes / 25e9});
  return points;
}

MeasuredWorkload copied(const std::string& name, const std::string& variant, Count payload, double seconds) {
  MeasuredWorkload w;
  w.workload = name;
  w.variant = variant;
  w.bytes = Bytes(2 * payload);
  w.median = Seconds(seconds);
  w.verified = true;
  return w;
}

}  // namespace

TEST_CASE("Latency and rate come back from exact times") {
  const auto line = fit_transfer(eleven_sizes());
  REQUIRE(line);
  CHECK(line->latency == Approx(5e-6));
  CHECK(line->rate == Approx(25e9));
  CHECK(line->misfit < 1e-9);
  // Three sizes by hand: 2, 3 and 5 s for 0, 1 and 3 bytes are 2 s and a byte a second.
  const auto three = fit_transfer({{0, 2}, {1, 3}, {3, 5}});
  REQUIRE(three);
  CHECK(three->latency == Approx(2));
  CHECK(three->rate == Approx(1));
}

TEST_CASE("One disturbed size does not bend the line, and shows") {
  for (std::size_t disturbed = 0; disturbed < 11; ++disturbed) {
    INFO(disturbed);
    std::vector<TransferPoint> points = eleven_sizes();
    points[disturbed].seconds *= 3;
    const auto line = fit_transfer(points);
    REQUIRE(line);
    CHECK(line->latency == Approx(5e-6).epsilon(0.02));
    CHECK(line->rate == Approx(25e9).epsilon(0.02));
    CHECK(line->misfit == Approx(2.0 / 3).epsilon(0.02));  // predicted is a third of measured
  }
}

TEST_CASE("What is no line is not made one") {
  CHECK_FALSE(fit_transfer({}));
  CHECK_FALSE(fit_transfer({{1024, 1e-6}, {2048, 2e-6}}));                // two points fit anything
  CHECK_FALSE(fit_transfer({{1024, 3e-6}, {2048, 2e-6}, {4096, 1e-6}}));  // more bytes, less time
  // Times in proportion to bytes, and less: no latency below zero comes out.
  const auto none = fit_transfer({{1e3, 0.9e-6}, {1e4, 9.9e-6}, {1e5, 99.9e-6}});
  REQUIRE(none);
  CHECK(none->latency == 0);
}

TEST_CASE("Transfers are fitted apart by direction and memory") {
  std::vector<MeasuredWorkload> found;
  for (Count bytes : {Count{1} << 10, Count{1} << 20, Count{1} << 30}) {
    const double size = static_cast<double>(bytes);
    found.push_back(copied("host_to_device", "pinned", bytes, 1e-5 + size / 50e9));
    found.push_back(copied("host_to_device", "pageable", bytes, 2e-5 + size / 10e9));
    found.push_back(copied("copy", "plain", bytes, 1e-5 + size / 1e12));  // a pass over memory is no transfer
  }
  found.push_back(copied("host_to_device", "pinned", 1 << 25, 10));
  found.back().verified = false;
  const std::vector<MeasuredTransfer> transfers = transfers_of(found);
  REQUIRE(transfers.size() == 2);
  CHECK(transfers[0].variant == "pageable");
  CHECK(transfers[0].rate.value() == Approx(10e9));
  CHECK(transfers[1].variant == "pinned");
  CHECK(transfers[1].latency.value() == Approx(1e-5));
  CHECK(transfers[1].sizes == 3);
}
