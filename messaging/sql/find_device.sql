SELECT device.id, device.name, device.created_at, device.subsystem_id, device.active AND enterprise.active AS active,
       subsystem.name AS subsystem_name, subsystem.created_at AS subsystem_created_at, subsystem.enterprise_id
FROM messaging_device AS device
JOIN messaging_subsystem AS subsystem ON subsystem.id = device.subsystem_id
JOIN messaging_enterprise AS enterprise ON enterprise.id = subsystem.enterprise_id
WHERE device.id = %s
