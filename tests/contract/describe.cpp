// Text of what stores return.

#include "contract/describe.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

std::string number(std::optional<Position> value) {
  return value ? std::to_string(*value) : "none";
}

std::string hex(const std::optional<Digest>& value) { return value ? to_hex(*value) : "none"; }

std::string_view to_string(Fold fold) { return fold == Fold::append ? "append" : "replace"; }

std::string_view to_string(Condition condition) {
  switch (condition) {
    case Condition::intact:
      return "intact";
    case Condition::damaged:
      return "damaged";
    case Condition::erased:
      return "erased";
  }
  return "?";
}

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::json:
      return "json";
    case Codec::bytes:
      return "bytes";
    case Codec::blob:
      return "blob";
  }
  return "?";
}

std::string parent_text(const Parent& parent) {
  return fmt::format("{} of {}@{}", parent.lineage == Lineage::fork ? "fork" : "child",
                     parent.session.text(), parent.position);
}

}  // namespace

std::string describe(bool value) { return value ? "true" : "false"; }

std::string describe(const std::string& value) {
  // A digest tells long texts apart, and megabytes of text would take most of a test's time.
  if (value.size() > 4096) return fmt::format("{} bytes {}", value.size(), to_hex(sha256(value)));
  std::string text = "\"";
  for (const char byte : value) {
    if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\') {
      text += byte;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return text + "\"";
}

std::string describe(Timestamp value) { return to_iso8601(value); }

std::string describe(ErrorCode value) { return std::string(perdure::to_string(value)); }

std::string describe(Status value) { return std::string(perdure::to_string(value)); }

std::string describe(CallState value) { return std::string(perdure::to_string(value)); }

std::string describe(const Error& value) {
  return fmt::format("fails: {} subject={}", describe(value.code), describe(value.subject));
}

std::string describe(const Point& value) {
  switch (value.kind()) {
    case Point::Kind::head:
      return "head";
    case Point::Kind::version:
      return fmt::format("v{}", value.number());
    case Point::Kind::position:
      return fmt::format("position {}", value.number());
  }
  return "?";
}

std::string describe(const Tally& value) {
  return fmt::format("{}/{}/{}/{}/{}", value.turns, value.steps, value.tokens_in, value.tokens_out,
                     value.cost_micros);
}

std::string describe(const Body& value) {
  return fmt::format("{}:{}", to_string(value.codec()), describe(value.bytes()));
}

std::string describe(const BlobRef& value) {
  return fmt::format("blob {} of {} bytes", to_hex(value.digest), value.size);
}

std::string describe(const Entry& value) {
  return fmt::format("#{} segment={} {}/{} {} body={} hash={} tally={} at={} {}", value.position,
                     value.segment, describe(value.channel), describe(value.kind),
                     to_string(value.fold), describe(value.body), to_hex(value.hash),
                     describe(value.tally), describe(value.at), to_string(value.condition));
}

std::string describe(const Checkpoint& value) {
  return fmt::format("v{} #{} at={} reason={} label={} metadata={} tally={}", value.version,
                     value.position, describe(value.at), describe(value.reason),
                     describe(value.label), describe(value.metadata), describe(value.tally));
}

std::string describe(const Segment& value) {
  return fmt::format("segment {} of {} first={} parent={}@{}", value.id, value.session.text(),
                     value.first, number(value.parent), value.parent_position);
}

std::string describe(const Receipt& value) {
  return fmt::format("receipt {} first={} count={} head={} version={} at={} chain={}",
                     value.batch.text(), value.first, value.count, value.head,
                     number(value.version), describe(value.at), to_hex(value.chain));
}

std::string describe(const Call& value) {
  return fmt::format(
      "call {}:{} args={} result={} tool={} provider_id={} effect={} key={} state={} attempts={} "
      "failures={} fence={} intended_at={} dispatched_at={} deadline={} settled_at={} who={} "
      "why={}",
      value.session.text(), value.position, value.args, number(value.result), describe(value.tool),
      describe(value.provider_id), perdure::to_string(value.effect), hex(value.key),
      describe(value.state), value.attempts, value.failures, value.fence,
      describe(value.intended_at), describe(value.dispatched_at), describe(value.deadline),
      describe(value.settled_at), describe(value.who), describe(value.why));
}

std::string describe(const InboxMessage& value) {
  return fmt::format("message {} to {} kind={} body={} at={}", value.id.text(),
                     value.session.text(), describe(value.kind), describe(value.body),
                     describe(value.at));
}

std::string describe(const Holder& value) {
  return fmt::format("holder {} host={} pid={} since={} fence={} {}", value.worker.text(),
                     describe(value.host), value.pid, describe(value.since), value.fence,
                     value.alive ? "alive" : "dead");
}

std::string describe(const Lease& value) {
  return fmt::format("lease of {} by {} fence={}", value.session.text(), value.worker.text(),
                     value.fence);
}

std::string describe(const ResourceLease& value) {
  return fmt::format("lease of {} by {} fence={}", describe(value.name), value.worker.text(),
                     value.fence);
}

std::string describe(const SessionSummary& value) {
  std::string tags;
  for (const auto& tag : value.tags) tags += describe(tag) + " ";
  return fmt::format(
      "session {} title={} opening={} tags={}metadata={} status={} wait_reason={} wake_at={} "
      "parent={} holder={} head={} next={} version={} tally={} attention={} revision={} "
      "created_at={} updated_at={} moved_to={}",
      value.id.text(), describe(value.title), describe(value.opening), tags,
      describe(value.metadata), describe(value.status), describe(value.wait_reason),
      describe(value.wake_at), value.parent ? parent_text(*value.parent) : "none",
      describe(value.holder), value.head, value.next, value.version, describe(value.tally),
      value.attention, value.revision, describe(value.created_at), describe(value.updated_at),
      describe(value.moved_to));
}

std::string describe(const SessionPage& value) {
  return describe(value.sessions) + " next=" + describe(value.next);
}

std::string describe(const Pruned& value) {
  return fmt::format("pruned versions={} entries={} bytes={}", value.versions, value.entries,
                     value.bytes);
}

std::string describe(const Freed& value) {
  return fmt::format("freed items={} bytes={}", value.items, value.bytes);
}

}  // namespace perdure
