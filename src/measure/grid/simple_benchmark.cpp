#include "measure/grid/simple_benchmark.h"

namespace assay {
namespace {

class PlainCase final : public Case {
 public:
  explicit PlainCase(SimpleCase parts) : parts_(std::move(parts)) {}

  Work work() const override { return parts_.work; }
  Quantity quantity() const override { return parts_.quantity; }
  Limit limit() const override { return parts_.limit; }
  TimeSource time_source() const override { return parts_.time_source; }
  bool fits_behind_gate() const override { return parts_.fits_behind_gate; }
  bool may_repeat() const override { return parts_.may_repeat; }
  std::vector<std::pair<std::string, std::string>> notes() const override { return parts_.notes; }
  Status enqueue(Stream& stream) override { return parts_.enqueue(stream); }
  Result<Verification> verify(Stream& stream) override { return parts_.verify(stream); }

 private:
  SimpleCase parts_;
};

}  // namespace

Result<std::unique_ptr<Case>> SimpleBenchmark::prepare(const Cell& cell,
                                                       PrepareContext context) const {
  return std::unique_ptr<Case>(
      std::make_unique<PlainCase>(TRY(description_.prepare(cell, context))));
}

}  // namespace assay
