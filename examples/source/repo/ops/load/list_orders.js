import http from "k6/http";
import { check } from "k6";

export const options = {
  scenarios: {
    list: { executor: "constant-arrival-rate", rate: 300, timeUnit: "1s", duration: "60s", preAllocatedVUs: 80 },
  },
};

const base = __ENV.BASE || "http://localhost:8080";
const customers = [101, 117, 240, 388, 1024, 1999, 2203, 2751];

export default function () {
  const customer = customers[Math.floor(Math.random() * customers.length)];
  const response = http.get(`${base}/v2/orders?customer_id=${customer}&limit=50`, {
    headers: { authorization: `Bearer ${__ENV.TOKEN}` },
  });
  check(response, { "200": (r) => r.status === 200, "has items": (r) => r.json("items") !== undefined });
}
