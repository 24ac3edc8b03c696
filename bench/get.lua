-- wrk: the same request over and over, with the token in $TOKEN.
dofile("bench/report.lua")
wrk.method = "GET"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Accept"] = "application/json"
