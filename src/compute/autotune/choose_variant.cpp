#include "compute/autotune/choose_variant.h"

namespace assay {

Result<std::size_t> choose_variant(Device& device, Stream& stream, const ChoiceCache& choices,
                                   const ChoiceKey& key, const std::vector<NamedWay>& ways,
                                   const ContestLimits& limits) {
  const auto remembered = choices.find(device.facts(), key);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (remembered == ways[i].name && ways[i].prepare().ok()) return i;
  }
  std::vector<std::size_t> prepared;
  std::vector<Contender> contenders;
  Status last = Error{ErrorKind::failed, "there is no way to choose"};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    last = ways[i].prepare();
    if (!last.ok()) continue;
    prepared.push_back(i);
    contenders.push_back(ways[i].work);
  }
  if (contenders.empty()) return last.error();
  const auto result = find_fastest(device, stream, contenders, limits);
  if (!result.ok()) {
    (void)stream.synchronize();  // what the ways use is used no more
    return result.error();
  }
  const std::size_t fastest = prepared[result->fastest];
  choices.keep(device.facts(), key, ways[fastest].name);
  return fastest;
}

}  // namespace assay
