--[[
  counting: the operations on counters.

  Cost     that of the counter
]]
local operations = {
  ['event-log.record'] = event_log.record,
  ['event-log.count'] = event_log.count,
  ['event-log.timeline'] = event_log.timeline,
  ['event-log.remove'] = event_log.remove,
  ['event-log.clear'] = event_log.clear,
  ['slice-ring.add'] = slice_ring.add,
  ['slice-ring.read'] = slice_ring.read,
  ['slice-ring.clear'] = slice_ring.clear,
}
