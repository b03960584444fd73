#include "serving/results/request_log.h"

namespace assay {

std::string_view name_of(ReplyEnd end) {
  switch (end) {
    case ReplyEnd::complete:
      return "complete";
    case ReplyEnd::unfinished:
      return "unfinished";
    case ReplyEnd::refused:
      return "refused";
    case ReplyEnd::unconnected:
      return "unconnected";
    case ReplyEnd::broken:
      return "broken";
    case ReplyEnd::silent:
      return "silent";
    case ReplyEnd::malformed:
      break;
  }
  return "malformed";
}

}  // namespace assay
