-- wrk: the same request over and over, with the token in $TOKEN.
wrk.method = "GET"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
wrk.headers["Accept"] = "application/json"
