-- wrk: creates ConfigMaps with 355 bytes of data in the namespace of the path, with the token in $TOKEN. Names are
-- $PREFIX and a number.
dofile("bench/report.lua")
local headers = {
  ["Authorization"] = "Bearer " .. os.getenv("TOKEN"),
  ["Content-Type"] = "application/json",
  ["Accept"] = "application/json",
}
local prefix = os.getenv("PREFIX")
local data = string.rep("x", 351)
local serial = 0

function request()
  serial = serial + 1
  local body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"' .. prefix .. serial ..
    '"},"data":{"text":"' .. data .. '"}}'
  return wrk.format("POST", nil, headers, body)
end
