// Figures as read in the sources named. The share is of the peak or bandwidth in the device's profile. MAMF is the
// "maximum achievable matmul FLOPS" table of stas00/ml-engineering, compute/accelerator/README.md: the best shape of
// a search, normal random values, cold cache.
#include "core/achieved_rates.hpp"

namespace llmcalc {
namespace {

struct Row {
  std::string_view device;  // a profile's name, or a rate class
  std::string_view key;     // of the peak; empty: of every peak
  double share;
  std::string_view source;
};

constexpr std::string_view mamf = "stas00/ml-engineering, MAMF table";

// Devices before rate classes: the first row that matches counts.
constexpr Row matmul_rows[] = {
    {"NVIDIA A100 PCIe 40GB", "", 0.811, mamf},
    {"NVIDIA A100 PCIe 80GB", "", 0.811, mamf},
    {"NVIDIA H100 PCIe 80GB", "bf16", 495.9 / 756, "zzc0721/torch-performance-test-data #95, 4096 cubed"},
    {"NVIDIA H100 PCIe 80GB", "fp16", 457.3 / 756, "zzc0721/torch-performance-test-data #95, 4096 cubed"},
    {"NVIDIA L4", "", 59.4 / 121, "zzc0721/torch-performance-test-data #120, 8192 cubed: limited by its 72 W"},
    {"Intel Gaudi 2", "", 0.969, mamf},
    {"Intel Gaudi 3", "", 0.741, mamf},
    {"GA100", "bf16", 271.2 / 312, mamf},
    {"GA100", "", 257.0 / 312, "thonking.ai, fp16 with normal random values, 8192 cubed"},
    {"GH100", "bf16", 794.5 / 989.4, mamf},
    {"GH100", "fp16", 736.2 / 989.4, "zzc0721/torch-performance-test-data #79, 8192 cubed"},
    {"GH100", "fp8", 1402.6 / 1979, mamf},
    {"GH100", "tf32", 373 / 494.7, "gpu-fryer README, 60 s sustained"},
    {"GH100", "", 794.5 / 989.4, mamf},
    {"GB100", "fp8", 3432.5 / 4500, mamf},
    {"GB100", "", 1745.0 / 2250, mamf},
    {"GB110", "fp8", 3353.3 / 4500, mamf},
    {"GB110", "", 1769.0 / 2250, mamf},
    {"H20", "", 0.961, "zzc0721/torch-performance-test-data #77"},
    {"GV100", "fp16", 97.4 / 125, "zzc0721/torch-performance-test-data #140, 8192 cubed"},
    {"GV100", "fp32", 14.5 / 15.7, "zzc0721/torch-performance-test-data #140, 8192 cubed"},
    {"GA10x_pro", "", 122.3 / 149.7, "zzc0721/torch-performance-test-data #185 (A40)"},
    {"AD10x_half", "bf16", 160.2 / 165.2, "zzc0721/torch-performance-test-data #78 (RTX 4090), 8192 cubed"},
    {"AD10x_half", "fp16", 155.5 / 165.2, "zzc0721/torch-performance-test-data #78 (RTX 4090), 8192 cubed"},
    {"AD10x_half", "fp32", 53.4 / 82.6, "zzc0721/torch-performance-test-data #78 (RTX 4090), 8192 cubed"},
    {"L40", "", 113.7 / 119.5, "LeetCUDA kernels/hgemm/README.md (L20, cuBLAS)"},
    {"GB20x_half", "", 178.9 / 209.5, "zzc0721/torch-performance-test-data #200 (RTX 5090; another card reached more)"},
    {"CDNA3", "", 668.4 / 1307.4, mamf},
    {"CDNA4", "", 1565.0 / 2500, mamf},
};

// Read plus write of a scaled copy or a triad.
constexpr std::string_view gpu_benches = "te42kyfo/gpu-benches, gpu-stream";
constexpr Row copy_rows[] = {
    {"NVIDIA A100 SXM4 40GB", "", 0.88, gpu_benches},
    {"GA100", "", 0.855, gpu_benches},
    {"GH100", "", 0.87, "te42kyfo/gpu-benches README (H100 PCIe, scale 84 %, triad 90 %)"},
    {"GB100", "", 0.88, "BabelStream PR #222 (GB200)"},
    {"GV100", "", 0.895, gpu_benches},
    {"L40", "", 0.89, gpu_benches},
    {"GA10x_pro", "", 0.94, "te42kyfo/gpu-benches, gpu-stream (A40)"},
    {"AD10x_half", "", 0.91, "tinygrad/open-gpu-kernel-modules #6 (RTX 4090)"},
    {"TU10x_geforce", "", 0.945, "mixbench README (RTX 2070)"},
    {"CDNA2", "", 0.86, "BabelStream PR #139 (MI210)"},
};

constexpr Row attention_rows[] = {
    {"GA100", "", 0.62, "FlashAttention-2, arXiv:2307.08691: 50-73 % of the peak"},
    {"GH100", "", 370.0 / 989.4, "FlashAttention-3, arXiv:2407.08608: FlashAttention-2, head size 128"},
};
constexpr Row cudnn_rows[] = {
    {"GH100", "", 600.0 / 989.4, "FlashAttention-3, arXiv:2407.08608: cuDNN, head size 128"},
};

// For what nobody has published: the middle of the rows above.
constexpr double usual_matmul = 0.80, usual_copy = 0.88, usual_attention = 0.50;

template <std::size_t n>
const Row* find(const Row (&rows)[n], const Device& device, std::string_view key) {
  for (const Row& row : rows)
    if (row.device == device.name && (row.key.empty() || row.key == key)) return &row;
  for (const Row& row : rows)
    if (device.units && row.device == device.units->rate_class && (row.key.empty() || row.key == key)) return &row;
  return nullptr;
}

template <std::size_t n>
Achieved look_up(const Row (&rows)[n], const Device& device, std::string_view key, double usual) {
  if (const Row* row = find(rows, device, key)) return {row->share, std::string(row->source)};
  return {usual, "no figure for this device: the middle of the published ones"};
}

}  // namespace

Achieved achieved_matmul(const Device& device, std::string_view key) {
  return look_up(matmul_rows, device, key, usual_matmul);
}
Achieved achieved_copy(const Device& device) { return look_up(copy_rows, device, {}, usual_copy); }
Achieved achieved_attention(const Device& device, bool cudnn) {
  return cudnn ? look_up(cudnn_rows, device, {}, usual_attention)
               : look_up(attention_rows, device, {}, usual_attention);
}

}  // namespace llmcalc
